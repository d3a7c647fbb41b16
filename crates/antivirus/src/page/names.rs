//! Names of characters that pages may use, sorted. Rule: those of HTML that stand for one character of sixteen bits.
//!
//! The WHATWG's HTML standard, section "Named character references", as far as ClamAV knows them.

/// The character that a name stands for.
pub(super) fn named(name: &[u8]) -> Option<u16> {
    let at = NAMES.binary_search_by(|(known, _)| known.as_bytes().cmp(name)).ok()?;
    NAMES.get(at).map(|(_, character)| *character)
}

#[rustfmt::skip]
static NAMES: [(&str, u16); 655] = [
    ("AElig", 198), ("Aacute", 193), ("Acirc", 194), ("Acy", 1040), ("Agrave", 192), ("Alpha", 913),
    ("Aring", 197), ("Atilde", 195), ("Auml", 196), ("Barwed", 8966), ("Bcy", 1041), ("Beta", 914),
    ("CHcy", 1063), ("Cap", 8914), ("Ccedil", 199), ("Chi", 935), ("Cup", 8915), ("DJcy", 1026),
    ("DScy", 1029), ("DZcy", 1039), ("Dagger", 8225), ("Dcy", 1044), ("Delta", 916), ("Dot", 168),
    ("DotDot", 8412), ("ETH", 208), ("Eacute", 201), ("Ecirc", 202), ("Ecy", 1069), ("Egrave", 200),
    ("Epsilon", 917), ("Eta", 919), ("Euml", 203), ("Fcy", 1060), ("GJcy", 1027), ("Gamma", 915),
    ("Gcy", 1043), ("Gg", 8921), ("Gt", 8811), ("HARDcy", 1066), ("IEcy", 1045), ("IOcy", 1025),
    ("Iacute", 205), ("Icirc", 206), ("Icy", 1048), ("Igrave", 204), ("Iota", 921), ("Iukcy", 1030),
    ("Iuml", 207), ("Jcy", 1049), ("Jsercy", 1032), ("Jukcy", 1028), ("KHcy", 1061), ("KJcy", 1036),
    ("Kappa", 922), ("Kcy", 1050), ("LJcy", 1033), ("Lambda", 923), ("Lcy", 1051), ("Ll", 8920),
    ("Lt", 8810), ("Mcy", 1052), ("Mu", 924), ("NJcy", 1034), ("Ncy", 1053), ("Ntilde", 209), ("Nu", 925),
    ("OElig", 338), ("Oacute", 211), ("Ocirc", 212), ("Ocy", 1054), ("Ograve", 210), ("Omega", 937),
    ("Omicron", 927), ("Oslash", 216), ("Otilde", 213), ("Ouml", 214), ("Pcy", 1055), ("Phi", 934),
    ("Pi", 928), ("Prime", 8243), ("Psi", 936), ("Rcy", 1056), ("Rho", 929), ("SHCHcy", 1065),
    ("SHcy", 1064), ("SOFTcy", 1068), ("Scaron", 352), ("Scy", 1057), ("Sigma", 931), ("Sub", 8912),
    ("Sup", 8913), ("THORN", 222), ("TSHcy", 1035), ("TScy", 1062), ("Tau", 932), ("Tcy", 1058),
    ("Theta", 920), ("Uacute", 218), ("Ubrcy", 1038), ("Ucirc", 219), ("Ucy", 1059), ("Ugrave", 217),
    ("Upsi", 978), ("Upsilon", 933), ("Uuml", 220), ("Vcy", 1042), ("Vdash", 8873), ("Verbar", 8214),
    ("Vvdash", 8874), ("Xi", 926), ("YAcy", 1071), ("YIcy", 1031), ("YUcy", 1070), ("Yacute", 221),
    ("Ycy", 1067), ("Yuml", 376), ("ZHcy", 1046), ("Zcy", 1047), ("Zeta", 918), ("aacute", 225),
    ("acirc", 226), ("acute", 180), ("acy", 1072), ("aelig", 230), ("agrave", 224), ("alefsym", 8501),
    ("aleph", 8501), ("alpha", 945), ("amalg", 10815), ("amp", 38), ("and", 8743), ("ang", 8736),
    ("angmsd", 8737), ("angsph", 8738), ("ap", 8776), ("ape", 8778), ("apos", 39), ("aring", 229),
    ("ast", 42), ("asymp", 8776), ("atilde", 227), ("auml", 228), ("barwed", 8965), ("bcong", 8780),
    ("bcy", 1073), ("bdquo", 8222), ("becaus", 8757), ("bepsi", 1014), ("bernou", 8492), ("beta", 946),
    ("beth", 8502), ("blank", 9251), ("blk12", 9618), ("blk14", 9617), ("blk34", 9619), ("block", 9608),
    ("bottom", 8869), ("bowtie", 8904), ("boxDL", 9559), ("boxDR", 9556), ("boxDl", 9558), ("boxDr", 9555),
    ("boxH", 9552), ("boxHD", 9574), ("boxHU", 9577), ("boxHd", 9572), ("boxHu", 9575), ("boxUL", 9565),
    ("boxUR", 9562), ("boxUl", 9564), ("boxUr", 9561), ("boxV", 9553), ("boxVH", 9580), ("boxVL", 9571),
    ("boxVR", 9568), ("boxVh", 9579), ("boxVl", 9570), ("boxVr", 9567), ("boxdL", 9557), ("boxdR", 9554),
    ("boxdl", 9488), ("boxdr", 9484), ("boxh", 9472), ("boxhD", 9573), ("boxhU", 9576), ("boxhd", 9516),
    ("boxhu", 9524), ("boxuL", 9563), ("boxuR", 9560), ("boxul", 9496), ("boxur", 9492), ("boxv", 9474),
    ("boxvH", 9578), ("boxvL", 9569), ("boxvR", 9566), ("boxvh", 9532), ("boxvl", 9508), ("boxvr", 9500),
    ("bprime", 8245), ("breve", 728), ("brvbar", 166), ("bsim", 8765), ("bsime", 8909), ("bsol", 92),
    ("bull", 8226), ("bump", 8782), ("bumpe", 8783), ("cap", 8745), ("caret", 8257), ("caron", 711),
    ("ccedil", 231), ("cedil", 184), ("cent", 162), ("chcy", 1095), ("check", 10003), ("chi", 967),
    ("cir", 9675), ("circ", 710), ("cire", 8791), ("clubs", 9827), ("colon", 58), ("colone", 8788),
    ("comma", 44), ("commat", 64), ("comp", 8705), ("compfn", 8728), ("cong", 8773), ("conint", 8750),
    ("coprod", 8720), ("copy", 169), ("copysr", 8471), ("crarr", 8629), ("cross", 10007), ("cuepr", 8926),
    ("cuesc", 8927), ("cup", 8746), ("curren", 164), ("cuvee", 8910), ("cuwed", 8911), ("dArr", 8659),
    ("dagger", 8224), ("daleth", 8504), ("darr", 8595), ("dash", 8208), ("dashv", 8867), ("dblac", 733),
    ("dcy", 1076), ("deg", 176), ("delta", 948), ("diam", 8900), ("diams", 9830), ("die", 168),
    ("divide", 247), ("divonx", 8903), ("djcy", 1106), ("dlcorn", 8990), ("dlcrop", 8973), ("dollar", 36),
    ("dot", 729), ("drcorn", 8991), ("drcrop", 8972), ("dscy", 1109), ("dtri", 9663), ("dtrif", 9662),
    ("dzcy", 1119), ("eDot", 8785), ("eacute", 233), ("ecir", 8790), ("ecirc", 234), ("ecolon", 8789),
    ("ecy", 1101), ("efDot", 8786), ("egrave", 232), ("egs", 10902), ("ell", 8467), ("els", 10901),
    ("empty", 8709), ("emsp", 8195), ("emsp13", 8196), ("emsp14", 8197), ("ensp", 8194), ("epsilon", 949),
    ("equals", 61), ("equiv", 8801), ("erDot", 8787), ("esdot", 8784), ("eta", 951), ("eth", 240),
    ("euml", 235), ("euro", 8364), ("excl", 33), ("exist", 8707), ("fcy", 1092), ("female", 9792),
    ("ffilig", 64259), ("fflig", 64256), ("ffllig", 64260), ("filig", 64257), ("flat", 9837),
    ("fllig", 64258), ("fnof", 402), ("forall", 8704), ("fork", 8916), ("frac12", 189), ("frac13", 8531),
    ("frac14", 188), ("frac15", 8533), ("frac16", 8537), ("frac18", 8539), ("frac23", 8532),
    ("frac25", 8534), ("frac34", 190), ("frac35", 8535), ("frac38", 8540), ("frac45", 8536),
    ("frac56", 8538), ("frac58", 8541), ("frac78", 8542), ("frasl", 8260), ("frown", 8994), ("gE", 8807),
    ("gEl", 10892), ("gamma", 947), ("gammad", 989), ("gap", 10886), ("gcy", 1075), ("ge", 8805),
    ("gel", 8923), ("ges", 10878), ("gimel", 8503), ("gjcy", 1107), ("gl", 8823), ("grave", 96),
    ("gsim", 8819), ("gt", 62), ("hArr", 8660), ("hairsp", 8202), ("half", 189), ("hamilt", 8459),
    ("hardcy", 1098), ("harr", 8596), ("hearts", 9829), ("hellip", 8230), ("horbar", 8213),
    ("hybull", 8259), ("hyphen", 8208), ("iacute", 237), ("icirc", 238), ("icy", 1080), ("iecy", 1077),
    ("iexcl", 161), ("iff", 8660), ("igrave", 236), ("image", 8465), ("incare", 8453), ("infin", 8734),
    ("inodot", 305), ("int", 8747), ("intcal", 8890), ("iocy", 1105), ("iota", 953), ("iquest", 191),
    ("isin", 8712), ("iukcy", 1110), ("iuml", 239), ("jcy", 1081), ("jsercy", 1112), ("jukcy", 1108),
    ("kappa", 954), ("kappav", 1008), ("kcy", 1082), ("khcy", 1093), ("kjcy", 1116), ("lArr", 8656),
    ("lE", 8806), ("lEg", 10891), ("lagran", 8466), ("lambda", 955), ("lap", 10885), ("laquo", 171),
    ("larr", 8592), ("lceil", 8968), ("lcub", 123), ("lcy", 1083), ("ldquo", 8220), ("ldquor", 8222),
    ("le", 8804), ("leg", 8922), ("les", 10877), ("lfloor", 8970), ("lg", 8822), ("lhblk", 9604),
    ("ljcy", 1113), ("lowast", 8727), ("lowbar", 95), ("loz", 9674), ("lozf", 10731), ("lpar", 40),
    ("lrm", 8206), ("lsaquo", 8249), ("lsim", 8818), ("lsqb", 91), ("lsquo", 8216), ("lsquor", 8218),
    ("lt", 60), ("lthree", 8907), ("ltimes", 8905), ("ltri", 9667), ("ltrie", 8884), ("ltrif", 9666),
    ("macr", 175), ("male", 9794), ("malt", 10016), ("marker", 9646), ("mcy", 1084), ("mdash", 8212),
    ("micro", 181), ("mid", 8739), ("middot", 183), ("minus", 8722), ("minusb", 8863), ("mldr", 8230),
    ("mnplus", 8723), ("models", 8871), ("mu", 956), ("nabla", 8711), ("natur", 9838), ("nbsp", 160),
    ("ncy", 1085), ("ndash", 8211), ("ne", 8800), ("nexist", 8708), ("ni", 8715), ("njcy", 1114),
    ("nldr", 8229), ("not", 172), ("notin", 8713), ("nsub", 8836), ("ntilde", 241), ("nu", 957),
    ("num", 35), ("numero", 8470), ("numsp", 8199), ("oS", 9416), ("oacute", 243), ("oast", 8859),
    ("ocir", 8858), ("ocirc", 244), ("ocy", 1086), ("odash", 8861), ("odot", 8857), ("oelig", 339),
    ("ogon", 731), ("ograve", 242), ("oline", 8254), ("omega", 969), ("omicron", 959), ("ominus", 8854),
    ("oplus", 8853), ("or", 8744), ("order", 8500), ("ordf", 170), ("ordm", 186), ("oslash", 248),
    ("osol", 8856), ("otilde", 245), ("otimes", 8855), ("ouml", 246), ("par", 8741), ("para", 182),
    ("part", 8706), ("pcy", 1087), ("percnt", 37), ("period", 46), ("permil", 8240), ("perp", 8869),
    ("phi", 966), ("phmmat", 8499), ("phone", 9742), ("pi", 960), ("piv", 982), ("planck", 8463),
    ("plus", 43), ("plusb", 8862), ("plusdo", 8724), ("plusmn", 177), ("pound", 163), ("pr", 8826),
    ("prap", 10935), ("pre", 10927), ("prime", 8242), ("prod", 8719), ("prop", 8733), ("prsim", 8830),
    ("psi", 968), ("puncsp", 8200), ("quest", 63), ("quot", 34), ("rArr", 8658), ("radic", 8730),
    ("raquo", 187), ("rarr", 8594), ("rceil", 8969), ("rcub", 125), ("rcy", 1088), ("rdquo", 8221),
    ("rdquor", 8221), ("real", 8476), ("rect", 9645), ("reg", 174), ("rfloor", 8971), ("rho", 961),
    ("rhov", 1009), ("ring", 730), ("rlm", 8207), ("rpar", 41), ("rpargt", 10644), ("rsaquo", 8250),
    ("rsqb", 93), ("rsquo", 8217), ("rsquor", 8217), ("rthree", 8908), ("rtimes", 8906), ("rtri", 9657),
    ("rtrie", 8885), ("rtrif", 9656), ("rx", 8478), ("sbquo", 8218), ("sc", 8827), ("scap", 10936),
    ("scaron", 353), ("sccue", 8829), ("sce", 10928), ("scsim", 8831), ("scy", 1089), ("sdot", 8901),
    ("sdotb", 8865), ("sect", 167), ("semi", 59), ("setmn", 8726), ("sext", 10038), ("sfrown", 8994),
    ("sharp", 9839), ("shchcy", 1097), ("shcy", 1096), ("shy", 173), ("sigma", 963), ("sigmaf", 962),
    ("sigmav", 962), ("sim", 8764), ("sime", 8771), ("smid", 8739), ("smile", 8995), ("softcy", 1100),
    ("sol", 47), ("spades", 9824), ("spar", 8741), ("sqcap", 8851), ("sqcup", 8852), ("sqsub", 8847),
    ("sqsube", 8849), ("sqsup", 8848), ("sqsupe", 8850), ("squ", 9633), ("square", 9633), ("squf", 9642),
    ("ssetmn", 8726), ("ssmile", 8995), ("sstarf", 8902), ("star", 9734), ("starf", 9733), ("sub", 8834),
    ("subE", 10949), ("sube", 8838), ("sum", 8721), ("sung", 9834), ("sup", 8835), ("sup1", 185),
    ("sup2", 178), ("sup3", 179), ("supE", 10950), ("supe", 8839), ("szlig", 223), ("target", 8982),
    ("tau", 964), ("tcy", 1090), ("tdot", 8411), ("telrec", 8981), ("there4", 8756), ("theta", 952),
    ("thetasym", 977), ("thetav", 977), ("thinsp", 8201), ("thkap", 8776), ("thksim", 8764), ("thorn", 254),
    ("tilde", 732), ("times", 215), ("timesb", 8864), ("top", 8868), ("tprime", 8244), ("trade", 8482),
    ("trie", 8796), ("tscy", 1094), ("tshcy", 1115), ("twixt", 8812), ("uArr", 8657), ("uacute", 250),
    ("uarr", 8593), ("ubrcy", 1118), ("ucirc", 251), ("ucy", 1091), ("ugrave", 249), ("uhblk", 9600),
    ("ulcorn", 8988), ("ulcrop", 8975), ("uml", 168), ("uplus", 8846), ("upsi", 965), ("upsih", 978),
    ("upsilon", 965), ("urcorn", 8989), ("urcrop", 8974), ("utri", 9653), ("utrif", 9652), ("uuml", 252),
    ("vDash", 8872), ("vcy", 1074), ("vdash", 8866), ("veebar", 8891), ("vellip", 8942), ("verbar", 124),
    ("vltri", 8882), ("vprop", 8733), ("vrtri", 8883), ("wedgeq", 8793), ("weierp", 8472), ("wreath", 8768),
    ("xcirc", 9711), ("xdtri", 9661), ("xi", 958), ("xutri", 9651), ("yacute", 253), ("yacy", 1103),
    ("ycy", 1099), ("yen", 165), ("yicy", 1111), ("yucy", 1102), ("yuml", 255), ("zcy", 1079),
    ("zeta", 950), ("zhcy", 1078), ("zwj", 8205), ("zwnj", 8204),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_found() {
        assert!(NAMES.is_sorted_by(|a, b| a.0.as_bytes() < b.0.as_bytes()));
        assert_eq!(named(b"amp"), Some(38));
        assert_eq!(named(b"Eacute"), Some(0xc9));
        assert_eq!(named(b"zwnj"), Some(0x200c));
        assert_eq!(named(b"AMPS"), None);
    }
}
