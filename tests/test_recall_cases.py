"""A hundred natural questions: query, the text that must come first, and what must not come before it.

Texts in many scripts, and the names and numbers that plain word splitting loses.
"""

from __future__ import annotations

import pytest

from agent_memory.kernel.reference.search import Index
from plain_store import NOW, said

SHARED = (
    "The meeting was moved to Thursday afternoon.",
    "Remember to water the plants twice a week.",
    "Grandmother baked an apple cake for the whole family.",
    "The invoice for March has been paid in full.",
)
"""In every memory below."""

CASES: list[tuple[str, str, tuple[str, ...]]] = [
    # English: stems, possessives, accents left out, first person
    ("Where does Alice work?", "Alice works at Acme as a data engineer.", ("Bob works at Globex.",)),
    ("Which languages has she been learning?", "She learns Portuguese every evening.", ("He lost his keys.",)),
    ("What is Caroline's favourite hike?", "Caroline's favourite hike is the Ridge Trail.", ("Caroline likes tea.",)),
    ("allergies of the cat", "The cat is allergic to chicken; an allergy test proved it.", ("The cat sleeps a lot.",)),
    ("When was the house painted?", "We painted the house in June 2021.", ("The house has two floors.",)),
    ("cafe near the station", "The Café Zéphyr beside the station opens at 7.", ("The station was renovated.",)),
    ("naive approach resume", "Her résumé calls the naïve approach risky.", ("The approach road is closed.",)),
    ("Jose Munoz phone", "José Muñoz has a new phone.", ("The phone shop closed.",)),
    ("cafe\u0301 menu", "The café menu has changed.", ("The menu bar is hidden.",)),
    ("Zurich office", "The Zu\u0308rich office is on the third floor.", ("The Vienna office is small.",)),
    ("Hauptstrasse", "Sie wohnt in der Hauptstraße.", ("Sie wohnt in Bonn.",)),
    ("What did I say about my sister?", "user: My sister lives in Porto.", ("bob: His sister lives in Rome.",)),
    ("T-shirt size", "His T-shirt size is XL.", ("The shirt is blue.", "Size matters.")),
    ("email newsletter", "The e-mail newsletter goes out on Mondays.", ("The newsletter archive is old.",)),
    ("well known author", "A well-known author lives next door.", ("The author is known to the police.",)),
    # Symbol names, signs, numbers
    ("Who prefers C++?", "Dana prefers C++ for the engine.", ("Dana prefers C# for tools.", "Dana prefers C.")),
    ("Who writes C#?", "Eli writes C# all day.", ("Eli writes C++ at home.", "Eli writes C on Sundays.")),
    ("experience with F#", "Fay has experience with F# in finance.", ("Fay has experience with flutes.",)),
    ("Is .NET installed?", "The server has .NET installed.", ("The server has a net installed over the pond.",)),
    ("set the offset to -5", "Set the offset to -5 for winter.", ("Set the offset to 5 for summer.",)),
    ("temperature −5", "The temperature fell to -5 at night.", ("The temperature rose to 5 at noon.",)),
    ("temperature of 5", "A temperature of 5 is right for the cellar.", ("Temperature is measured hourly.",)),
    ("threshold 3.5", "The threshold is 3.5 volts.", ("The threshold is 5 of 3 votes.", "The threshold is 35 volts.")),
    ("budget 12000", "The budget is 12,000 euros.", ("The budget is 12 euros and 000 cents.",)),
    ("version v1.2.3", "Release v1.2.3 fixes the crash.", ("Release v1.3.2 adds colour.", "Release 2 came late.")),
    ("version 1.2.3", "The library is pinned to 1.2.3 exactly.", ("The library is pinned to 3.2.1.",)),
    ("port 8080", "The proxy listens on port 8080.", ("The proxy listens on port 80.",)),
    ("2024-05-01", "Contract signed 2024-05-01.", ("Contract signed 2024-01-05.", "Contract signed in May.")),
    ("R&D budget", "The R&D budget grew.", ("The D&R budget shrank.", "The budget of plan R is fixed.")),
    ("AT&T contract", "The AT&T contract ends soon.", ("The T contract ends late.",)),
    ("Notepad++ settings", "Her Notepad++ settings are in the cloud.", ("Her notepad is in the drawer.",)),
    ("room 12", "The workshop is in room 12.", ("The workshop is in room 21.",)),
    # Identifiers, addresses, paths, tickets
    ("ann.lee@example.com", "Write to ann.lee@example.com.", ("Write to lee.ann@example.com.", "Write to Ann.")),
    ("What is Bob's mail address at example.org?", "bob@example.org is Bob's mail.", ("Bob has an address.",)),
    ("db-3.internal", "The replica runs on db-3.internal.", ("The replica runs on db-4.internal.",)),
    ("host db-3", "Host db-3 has the backups.", ("Host db-4 has the logs.",)),
    ("user_id column", "The column user_id is never null.", ("The user column has an id.",)),
    ("userid", "The field user_id is required.", ("The user is required to log in.",)),
    ("/etc/nginx/nginx.conf", "Limits are set in /etc/nginx/nginx.conf.", ("Limits are set in /etc/ssh.conf.",)),
    ("nginx.conf", "The timeout is in /etc/nginx/nginx.conf.", ("The timeout is 30 s in nginx.",)),
    (r"C:\Users\ann\notes.txt", r"The notes are in C:\Users\ann\notes.txt.", (r"The notes are in C:\Temp.",)),
    ("ABC-123", "Ticket ABC-123 is about the login.", ("Ticket ABC-124 is about 123 things.",)),
    ("What is ticket OPS-77 about?", "OPS-77: the disk of the build host is full.", ("OPS-78: rotate keys.",)),
    ("std::vec", "Use std::vec for the buffer.", ("Use std::list for the queue.",)),
    ("node.js version", "The build needs Node.js version 20.", ("The node has a version label.",)),
    ("#4711", "Order #4711 was returned.", ("Order #4712 was kept.",)),
    ("@alice handle", "Her handle is @alice.", ("Her handle broke.",)),
    ("+49 170 1234567", "Call +49 170 1234567 after six.", ("Call +49 170 7654321 before six.",)),
    ("https://example.com/docs/setup", "Read https://example.com/docs/setup first.", ("Read the docs first.",)),
    ("__init__.py", "The names stand in __init__.py.", ("The names stand in main.py.",)),
    # Japanese
    ("東京の天気は?", "東京の天気は晴れです。", ("大阪の天気は雨です。", "京都に住んでいます。")),
    ("猫の名前は何ですか", "猫の名前はミケです。", ("犬の名前はポチです。",)),
    ("猫はどこ？", "うちの猫が庭にいる。", ("うちの犬が庭にいる。",)),
    ("好きな食べ物", "田中さんの好きな食べ物は寿司です。", ("田中さんは東京に住んでいます。",)),
    ("コーヒー", "毎朝コーヒーを飲みます。", ("毎朝紅茶を飲みます。",)),
    ("ｺｰﾋｰ", "毎朝コーヒーを飲みます。", ("毎朝紅茶を飲みます。",)),
    ("iPhone 買った", "先週iPhoneを買った。", ("先週靴を買った。",)),
    ("鍵", "鍵は玄関にあります。", ("傘は玄関にあります。",)),
    # Chinese
    ("他在哪里工作？", "他在北京大学工作。", ("她住在上海。",)),
    ("北京大学", "她毕业于北京大学。", ("大学在北方的京城。", "她去过北京。")),
    ("会议时间", "会议的时间改到周五。", ("周末去爬山。",)),
    ("茶", "他喜欢喝茶。", ("他喜欢喝咖啡。",)),
    ("信用卡號碼", "信用卡號碼在保險箱裡。", ("信件在抽屜裡。",)),
    ("ＡＢＣ公司", "ABC公司的合同已签。", ("XYZ公司的合同已签。",)),
    # Korean
    ("학교는 어디에 있나요?", "학교에서 버스로 십 분 걸린다.", ("시장에서 사과를 샀다.",)),
    ("김치 만드는 법", "할머니의 김치 만드는 방법을 적었다.", ("할머니의 생신은 오월이다.",)),
    # Thai, Lao, Khmer, Myanmar, Tibetan
    ("ร้านอาหารที่ชอบ", "ร้านอาหารที่เธอชอบอยู่ใกล้แม่น้ำ", ("รถไฟออกตอนเช้า",)),
    ("แมวชื่ออะไร", "แมวของเราชื่อส้ม", ("หมาของเราตัวใหญ่",)),
    ("กรุงเทพ", "เขาอยู่กรุงเทพมาสิบปี", ("เขาอยู่เชียงใหม่",)),
    ("ວຽງຈັນ", "ລາວຢູ່ວຽງຈັນ", ("ລາວມັກກິນເຂົ້າ",)),
    ("ភ្នំពេញ", "គាត់រស់នៅភ្នំពេញ", ("គាត់ចូលចិត្តកាហ្វេ",)),
    ("ရန်ကုန်", "သူ ရန်ကုန်မှာ နေတယ်", ("သူ ကော်ဖီ ကြိုက်တယ်",)),
    ("ལྷ་ས", "ཁོང་ལྷ་སར་བཞུགས་ཡོད།", ("ཁོང་ཇ་འཐུང་།",)),
    # Russian and Ukrainian, inflected
    ("Где живёт кошка?", "Наши кошки живут на даче.", ("Собака спит в доме.",)),
    ("Где работает Ольга?", "Работа Ольги — школа под Москвой.", ("Он отдыхает в Сочи.",)),
    ("любимая книга Анны", "Анна перечитала все свои любимые книги.", ("Анна купила хлеб.",)),
    ("елка", "Ёлка стоит в зале.", ("Шкаф стоит в зале.",)),
    ("синий автомобиль", "Они продали синие автомобили.", ("Они продали зелёный велосипед.",)),
    ("день рождения сестры", "День рождения её сестра отмечает в мае.", ("Письмо отправили в мае.",)),
    ("книга про Одесу", "Вона читає книгу про місто Одеса.", ("Вона п'є каву у Львові.",)),
    # Greek
    ("που μένει η Μαρία", "Η ΜΑΡΙΑ μένει στην Αθήνα.", ("Ο Νίκος δουλεύει στην Πάτρα.",)),
    ("βιβλίο", "Τα βιβλία είναι στο ράφι.", ("Τα κλειδιά είναι στο τραπέζι.",)),
    ("αγαπημένος καφές", "Ο αγαπημένος του καφές είναι ο φραπές.", ("Το τσάι είναι ζεστό.",)),
    # Arabic, Persian, Hebrew
    ("أين يعمل أحمد؟", "أحمد يعمل في المستشفى.", ("سارة تسكن في القاهرة.",)),
    ("كتاب", "الكتاب على الطاولة.", ("القلم على الطاولة.",)),
    ("احمد", "أَحْمَد مهندس.", ("سارة طبيبة.",)),
    ("قهوة", "تشرب القهـوة كل صباح.", ("تشرب الشاي كل مساء.",)),
    ("می‌خواهم", "می‌خواهم به تهران بروم.", ("او در شیراز است.",)),
    ("איפה הספרים?", "הספרים הישנים על השולחן.", ("העט על השולחן.",)),
    ("שלום", "שָׁלוֹם לכולם.", ("תודה לכולם.",)),
    # Georgian, Armenian
    ("სად ცხოვრობს ნინო?", "ნინო თბილისში ცხოვრობს.", ("გიორგი მუშაობს ბანკში.",)),
    ("თბილისი", "მატარებელი თბილისში ჩავიდა.", ("მატარებელი ბათუმში ჩავიდა.",)),
    ("სახლი", "ისინი სახლში არიან.", ("ისინი სკოლაში არიან.",)),
    ("Երևանում", "Երևանը մեծ քաղաք է։", ("Նա սիրում է սուրճ։",)),
    # Hindi, Tamil, Bengali
    ("किताब कहाँ है", "किताबें मेज़ पर हैं।", ("चाबी दराज में थी।",)),
    ("दिल्ली", "वह दिल्ली में रहता है।", ("वह मुंबई में काम करता है।",)),
    ("हिंदी", "उसे हिंदी आती है।", ("उसे तमिल आती है।",)),
    ("சென்னை", "அவள் சென்னையில் வசிக்கிறாள்.", ("அவள் மதுரை போனாள்.",)),
    ("কলকাতা", "সে কলকাতায় থাকে।", ("সে ঢাকায় যায়।",)),
    # German, French, Spanish, Turkish, Vietnamese, with the English default
    ("Lieblingsfarbe grün", "Ihre Lieblingsfarbe ist Grün.", ("Ihre Katze heißt Mimi.",)),
    ("hôtel à Genève", "L'hôtel à Genève est complet.", ("Le train pour Lyon est complet.",)),
    ("contraseña del servidor", "La contraseña del servidor cambió.", ("El servidor tiene 64 GB.",)),
    ("İstanbul", "İstanbul'da yaşıyor.", ("Ankara'da yaşıyor.",)),
    ("phở Hà Nội", "Quán phở ở Hà Nội rất ngon.", ("Quán cà phê ở Huế.",)),
]


def first(query: str, *texts: str) -> str:
    """The text recall answers first, of those and the shared ones."""
    records = [said(text, days=n) for n, text in enumerate((*SHARED, *texts))]
    index = Index()
    index.update(record.canonical_bytes() for record in records)
    bodies = {record.id: record.body for record in records}
    rows = index.recall(query, now=int(NOW.timestamp() * 1000), budget=10_000)
    return bodies[rows[0].id] if rows else ""


def test_there_are_a_hundred_cases() -> None:
    assert len(CASES) >= 100
    assert len({query for query, _, _ in CASES}) >= 99


@pytest.mark.parametrize(("query", "text", "distractors"), CASES, ids=[query for query, _, _ in CASES])
def test_the_answer_comes_first(query: str, text: str, distractors: tuple[str, ...]) -> None:
    found = first(query, *distractors, text)
    assert found == said(text).body


@pytest.mark.parametrize(("query", "text", "distractors"), CASES, ids=[query for query, _, _ in CASES])
def test_whatever_is_newer(query: str, text: str, distractors: tuple[str, ...]) -> None:
    """The same when the distractors are the newer records."""
    assert first(query, text, *distractors) == said(text).body
