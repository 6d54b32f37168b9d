"""The tool server: a memory as tools that a model calls, over the Model Context Protocol.

A face over :class:`agent_memory.Memory` that holds no rule of its own.  Started by ``agent-memory mcp``; what needs the
SDK is imported then, and never by ``import agent_memory``.

    arguments   what each tool takes, as a schema, and what is said of arguments that do not fit it
    results     what each tool answers, as a schema
    kept        writes that could not be saved and wait to be tried again
    face        the tools, as blocking calls on a memory
    tools       what a model is told about each of them
    server      the server: a call is checked, run beside the event loop, and answered
    wire        lines in, lines out: messages that cannot be read, and the end of the process
"""
