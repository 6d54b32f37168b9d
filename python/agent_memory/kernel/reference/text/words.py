"""The word lists of spec/text.md, each with its reason.  Data only; every entry is NFC and casefolded."""

from __future__ import annotations

import re
from unicodedata import normalize


def _words(text: str) -> frozenset[str]:
    return frozenset(normalize("NFC", text).split())


ARTICLES = frozenset({"a", "an", "the"})

# Copulas and auxiliaries that differ only in person or number stand for one form; tenses stay apart.
FORMS = {"am": "is", "are": "is", "were": "was", "have": "has", "do": "does"}

COPULAS = _words("is are am was were be been being")
AUXILIARIES = _words("has have had do does did")
MODALS = _words("will would shall should may might must can could")
PREPOSITIONS = _words("to from in on at by with for of as before after")
POINTERS = _words("it its this that these those there here")
CONNECTIVES = _words("and or but if then than so when any some just now")

# Stop words carry structure, not content: they are no terms, yet same_statement compares them one by one.
# Possessives and persons (my, her, we) name someone and are content.
STOP_WORDS = ARTICLES | COPULAS | AUXILIARIES | MODALS | PREPOSITIONS | POINTERS | CONNECTIVES

# "a" before one of these is no article: a letter used as a name ("plan a is late"), or "a few", which is not "few".
NO_NOUN_FOLLOWS = COPULAS | AUXILIARIES | MODALS | PREPOSITIONS | _words("and or but if then than so when few little")

# The participle after one of these is passive or perfect: "is blocked" must not become "is blocks".
BEFORE_PARTICIPLE = COPULAS | frozenset({"has", "have", "had"})

# Stems that say only that something is needed; they frame a claim and leave its core.
FRAME_STEMS = frozenset({"need", "requir", "necessari", "necessar"})

NEGATORS_ENGLISH = _words("not no never none neither nor without nobody nothing nowhere lack lacks lacked lacking")
# Negators of the largest languages that are written with spaces, and of German.  In a text that also has lower-case
# letters, an ASCII one written in capitals (NE, SEM) is an abbreviation and no negator.
NEGATORS_OTHER = _words(
    # Spanish, Portuguese
    "nunca jamás ni sin ningún ninguno ninguna nadie nada tampoco "
    "não nao jamais nem sem nenhum nenhuma ninguém "
    # French ("n'" is handled with the apostrophe)
    "ne pas non rien aucun aucune sans "
    # German
    "nicht kein keine keinen keinem keiner keines nie niemals ohne weder niemand nichts "
    # Russian
    "не нет ни нету без никогда нельзя никто ничего "
    # Hindi, Bengali
    "नहीं नही न ना मत बिना না নেই নয় নি নাই বিনা "
    # Arabic, Urdu
    "لا ليس ليست ليسوا لست لم لن غير بدون نہیں نہ مت بغیر"
)

# What ends a sentence beside a negator; a question mark is a token.
ENDS = ".!…。｡।॥۔"

# Sequences that hold a negator and deny nothing.  They change the polarity only; their words are compared like others.
IDIOMS = tuple(
    tuple(idiom.split())
    for idiom in (
        "no doubt", "no wonder", "no matter", "no problem", "no worries", "not only", "not merely", "not to mention",
        "nothing but", "none other than", "never mind", "without fail", "without doubt", "without a doubt",
    )
)  # fmt: skip
# "There is no problem" denies one.
DENIED_AFTER = COPULAS | frozenset({"has", "have", "had"})
SPEAKERS = _words("i we you they he she")
BEFORE_IDIOM = _words("just really simply")

# Verbs after which "a" begins what the verb is about, by stem; after another word ("plan a") it may be a name.
TAKES_ARTICLE = _words(
    "add becom buy contain creat expect find get got giv includ keep kept lik mad mak need prefer provid receiv requir "
    "return send sent tak took us want writ wrot"
)

# "n't" after these bases; the same words typed without the apostrophe.
CONTRACTED = {"ca": "can", "wo": "will", "sha": "shall"}
UNMARKED = {
    "cannot": "can", "cant": "can", "dont": "do", "doesnt": "does", "didnt": "did", "isnt": "is", "arent": "are",
    "wasnt": "was", "werent": "were", "hasnt": "has", "havent": "have", "hadnt": "had", "wont": "will",
    "wouldnt": "would", "couldnt": "could", "shouldnt": "should", "mustnt": "must",
}  # fmt: skip

# Inside text without spaces a negator is part of the run.  First the words that only look like one, longest first,
# then the negators of Chinese, Japanese and Thai.
RUN_NEGATOR = re.compile(
    "(?P<keep>差不多|不过|不過|不断|不斷|不仅|不僅|不但|不错|不錯|未来|未來|无锡|無錫|少ない|少なく|すくなくとも|没收|沒收"
    "|無料|無線|无线|不動産|不动产)"
    "|(?P<negator>不|没有|沒有|没|沒|未|无|無|勿|并非|並非|ません|なかっ|ない|なく|ไม่)"
)

# Two forms of one stem that are two words: the longer one is never an inflection of the shorter.
NOT_INFLECTIONS = _words(
    "news goods customs means arms works corps odds analytics economics statistics physics politics mechanics "
    "headquarters glasses hers ours yours theirs"
)

# Units whose case is their meaning, directly after a number: Mb is not MB, mW is not MW.
CASED_UNITS = _words("b kb mb gb tb pb bps kbps mbps gbps tbps g m mw mv ma mpa")

# Abbreviations that are another word in lower case: written in capitals in a text that also has lower-case letters,
# they keep their case.
CASED_WORDS = frozenset({"us", "it"})

# infer_slots (section 7)
ADVERBS = _words("now currently always still also really actually usually only just already")
VALUE_PREPOSITIONS = PREPOSITIONS | _words(
    "about above across against along among around behind below beneath beside between beyond down during inside "
    "into like near off onto out outside over past per since through toward towards under until up upon via "
    "within"
)
IRREGULAR_PARTICIPLES = _words(
    "built written made done given taken set kept known held sent sold lost found bound shown hidden broken chosen "
    "driven spoken stolen frozen run put"
)
NO_SUBJECT = _words(
    "if when whenever unless whether because since although though while once until what who whom whose which where "
    "why how"
)
HEDGES = _words("think believe guess suppose hope assume say says said heard wish doubt")

CONDITIONS = _words("if unless when whenever while until except or")

# sentences (section 8)
TITLES = _words("dr mr mrs ms prof st sr jr gen col sgt capt rev hon mt vs no nr fig e.g i.e cf approx ca")
SHORTENED = _words("etc inc ltd co corp dept est al a.m p.m u.s u.k jan feb mar apr jun jul aug sep sept oct nov dec")
NOISE = _words(
    "ok okay hmm hm wow thanks thank hello hi hey sure great nice cool please sorry bye good yeah yep nope lol"
)
TIMES = _words("yesterday today tonight ago earlier monday tuesday wednesday thursday friday saturday sunday last")
IRREGULAR_PAST = _words(
    "went ran did made took got came saw met broke built wrote sent found lost left began gave told said bought "
    "brought caught fell felt held kept led paid put read rose shut sold spent stood taught thought threw understood "
    "won wore froze shook spoke stole drove chose ate flew forgot hit cut set became heard slept"
)
STATIVE_PAST = _words("lived liked loved hated owned wanted used needed preferred believed belonged")
PRESENT_VERBS = _words(
    "likes uses lives prefers wants needs owns runs works requires has knows hates loves contains supports depends "
    "speaks keeps means costs takes goes makes expects stores serves handles"
)
NO_VERB_AFTER = (
    _words("the a an this that these those my your his its our their")
    | PREPOSITIONS
    | COPULAS
    | AUXILIARIES
    | NEGATORS_ENGLISH
)
PERSONS = _words("i we you they he she")
