//! The word lists of spec/text.md. Data only; every entry is in NFC and folded.
//!
//! The same lists stand in `kernel/reference/text/words.py`, with the reason of each; a test compares the two. A list that
//! holds another one whole has only what it adds here; [`super::lexicon`] puts them together.

/// They carry no value.
pub const ARTICLES: &str = "a an the";
/// The forms of be; stop words carry structure, not content.
pub const COPULAS: &str = "is are am was were be been being";
/// Of tense; persons and possessives (my, her) are no stop words, they name someone.
pub const AUXILIARIES: &str = "has have had do does did";
/// How certain or how binding.
pub const MODALS: &str = "will would shall should may might must can could";
/// Where, when, whose.
pub const PREPOSITIONS: &str = "to from in on at by with for of as before after";
/// What points and does not name.
pub const POINTERS: &str = "it its this that these those there here";
/// What joins.
pub const CONNECTIVES: &str = "and or but if then than so when any some just now";
/// "a" before one of these is no article: a letter used as a name ("plan a is late"), or "a few", which is not "few".
pub const NO_NOUN_FOLLOWS: &str = "and or but if then than so when few little";
/// The participle after one of these, or after a copula, is passive or perfect: "is blocked" must not become "is blocks".
pub const BEFORE_PARTICIPLE: &str = "has have had";
/// Stems that say only that something is needed; they frame a claim and leave its core.
pub const FRAME_STEMS: &str = "need requir necessari necessar";
/// English words that deny.
pub const NEGATORS_ENGLISH: &str = "\
    not no never none neither nor without nobody nothing nowhere lack lacks lacked lacking";
/// Negators of the largest languages that are written with spaces, and of German.
pub const NEGATORS_OTHER: &str = "\
    nunca jamás ni sin ningún ninguno ninguna nadie nada tampoco não nao jamais nem sem nenhum nenhuma ninguém ne \
    pas non rien aucun aucune sans nicht kein keine keinen keinem keiner keines nie niemals ohne weder niemand \
    nichts не нет ни нету без никогда нельзя никто ничего नहीं नही न ना मत बिना না নেই নয় নি নাই বিনা لا ليس ليست \
    ليسوا لست لم لن غير بدون نہیں نہ مت بغیر";
/// Verbs after which "a" begins what the verb is about, by stem.
pub const TAKES_ARTICLE: &str = "\
    add becom buy contain creat expect find get got giv includ keep kept lik mad mak need prefer provid receiv \
    requir return send sent tak took us want writ wrot";
/// Two forms of one stem that are two words: the longer one is never an inflection of the shorter.
pub const NOT_INFLECTIONS: &str = "\
    news goods customs means arms works corps odds analytics economics statistics physics politics mechanics \
    headquarters glasses hers ours yours theirs";
/// Units whose case is their meaning, directly after a number.
pub const CASED_UNITS: &str = "b kb mb gb tb pb bps kbps mbps gbps tbps g m mw mv ma mpa";
/// Abbreviations that are another word in lower case.
pub const CASED_WORDS: &str = "us it";
/// Who says "can't wait" for joy.
pub const SPEAKERS: &str = "i we you they he she";
/// May stand between who cannot wait and that they cannot.
pub const BEFORE_IDIOM: &str = "just really simply";
/// What may stand before the value of a slot (section 7).
pub const ADVERBS: &str = "now currently always still also really actually usually only just already";
/// No value starts with one of these or with a preposition.
pub const VALUE_PREPOSITIONS: &str = "\
    about above across against along among around behind below beneath beside between beyond down during inside into \
    like near off onto out outside over past per since through toward towards under until up upon via within";
/// No value starts with one of these in lower case.
pub const IRREGULAR_PARTICIPLES: &str = "\
    built written made done given taken set kept known held sent sold lost found bound shown hidden broken chosen \
    driven spoken stolen frozen run put";
/// A sentence that starts with one of these names no subject.
pub const NO_SUBJECT: &str = "\
    if when whenever unless whether because since although though while once until what who whom whose which where \
    why how";
/// A sentence with one of these before the copula says what someone thinks.
pub const HEDGES: &str = "think believe guess suppose hope assume say says said heard wish doubt";
/// A sentence with one of these from the copula on holds at times only.
pub const CONDITIONS: &str = "if unless when whenever while until except or";
/// Their point ends no sentence (section 8).
pub const TITLES: &str = "dr mr mrs ms prof st sr jr gen col sgt capt rev hon mt vs no nr fig e.g i.e cf approx ca";
/// Their point may end a sentence.
pub const SHORTENED: &str = "\
    etc inc ltd co corp dept est al a.m p.m u.s u.k jan feb mar apr jun jul aug sep sept oct nov dec";
/// A sentence that starts with one of these is no memory.
pub const NOISE: &str = "\
    ok okay hmm hm wow thanks thank hello hi hey sure great nice cool please sorry bye good yeah yep nope lol";
/// What dates an episode.
pub const TIMES: &str = "\
    yesterday today tonight ago earlier monday tuesday wednesday thursday friday saturday sunday last";
/// What happened.
pub const IRREGULAR_PAST: &str = "\
    went ran did made took got came saw met broke built wrote sent found lost left began gave told said bought \
    brought caught fell felt held kept led paid put read rose shut sold spent stood taught thought threw understood \
    won wore froze shook spoke stole drove chose ate flew forgot hit cut set became heard slept";
/// What was so for a time.
pub const STATIVE_PAST: &str = "lived liked loved hated owned wanted used needed preferred believed belonged";
/// What is so.
pub const PRESENT_VERBS: &str = "\
    likes uses lives prefers wants needs owns runs works requires has knows hates loves contains supports depends \
    speaks keeps means costs takes goes makes expects stores serves handles";
/// What looks like a past form is none after one of these, a preposition, a copula, an auxiliary or a negator.
pub const NO_VERB_AFTER: &str = "the a an this that these those my your his its our their";
/// A verb follows them.
pub const PERSONS: &str = "i we you they he she";

/// Copulas and auxiliaries that differ only in person or number stand for one form; tenses stay apart.
pub const FORMS: &[(&str, &str)] = &[("am", "is"), ("are", "is"), ("were", "was"), ("have", "has"), ("do", "does")];

/// The verb of `n't` after these bases.
pub const CONTRACTED: &[(&str, &str)] = &[("ca", "can"), ("wo", "will"), ("sha", "shall")];

/// Contractions typed without the apostrophe, with their verb.
#[rustfmt::skip]
pub const UNMARKED: &[(&str, &str)] = &[
    ("cannot", "can"), ("cant", "can"), ("dont", "do"), ("doesnt", "does"), ("didnt", "did"), ("isnt", "is"),
    ("arent", "are"), ("wasnt", "was"), ("werent", "were"), ("hasnt", "has"), ("havent", "have"),
    ("hadnt", "had"), ("wont", "will"), ("wouldnt", "would"), ("couldnt", "could"), ("shouldnt", "should"),
    ("mustnt", "must"),
];

/// Sequences that hold a negator and deny nothing.
#[rustfmt::skip]
pub const IDIOMS: &[&str] = &[
    "no doubt", "no wonder", "no matter", "no problem", "no worries", "not only", "not merely",
    "not to mention", "nothing but", "none other than", "never mind", "without fail", "without doubt",
    "without a doubt",
];

/// Inside text without spaces: the words that only look like a negator, longest first.
#[rustfmt::skip]
pub const RUN_KEPT: &[&str] = &[
    "差不多", "不过", "不過", "不断", "不斷", "不仅", "不僅", "不但", "不错", "不錯", "未来", "未來",
    "无锡", "無錫", "少ない", "少なく", "すくなくとも", "没收", "沒收", "無料", "無線", "无线", "不動産",
    "不动产",
];

/// Inside text without spaces: the negators of Chinese, Japanese and Thai, in the order they are looked for.
#[rustfmt::skip]
pub const RUN_NEGATORS: &[&str] = &[
    "不", "没有", "沒有", "没", "沒", "未", "无", "無", "勿", "并非", "並非", "ません", "なかっ",
    "ない", "なく", "ไม่",
];
