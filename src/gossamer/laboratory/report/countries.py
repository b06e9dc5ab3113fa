"""Names of the countries and territories that top-level domains stand for (ISO 3166-1, and the few exceptions), and
numbers by country that a user gives."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Final

from gossamer.base import disk
from gossamer.base.errors import UsageError

_NAMES: Final = """
ac Ascension Island; ad Andorra; ae United Arab Emirates; af Afghanistan; ag Antigua and Barbuda; ai Anguilla;
al Albania; am Armenia; ao Angola; aq Antarctica; ar Argentina; as American Samoa; at Austria; au Australia; aw Aruba;
ax Åland Islands; az Azerbaijan; ba Bosnia and Herzegovina; bb Barbados; bd Bangladesh; be Belgium; bf Burkina Faso;
bg Bulgaria; bh Bahrain; bi Burundi; bj Benin; bm Bermuda; bn Brunei; bo Bolivia; bq Caribbean Netherlands; br Brazil;
bs Bahamas; bt Bhutan; bw Botswana; by Belarus; bz Belize; ca Canada; cc Cocos Islands; cd Congo (Kinshasa);
cf Central African Republic; cg Congo (Brazzaville); ch Switzerland; ci Côte d'Ivoire; ck Cook Islands; cl Chile;
cm Cameroon; cn China; co Colombia; cr Costa Rica; cu Cuba; cv Cape Verde; cw Curaçao; cx Christmas Island; cy Cyprus;
cz Czechia; de Germany; dj Djibouti; dk Denmark; dm Dominica; do Dominican Republic; dz Algeria; ec Ecuador; ee Estonia;
eg Egypt; er Eritrea; es Spain; et Ethiopia; eu European Union; fi Finland; fj Fiji; fk Falkland Islands;
fm Micronesia; fo Faroe Islands; fr France; ga Gabon; gb United Kingdom; gd Grenada; ge Georgia; gf French Guiana;
gg Guernsey; gh Ghana; gi Gibraltar; gl Greenland; gm Gambia; gn Guinea; gp Guadeloupe; gq Equatorial Guinea; gr Greece;
gs South Georgia; gt Guatemala; gu Guam; gw Guinea-Bissau; gy Guyana; hk Hong Kong; hm Heard Island; hn Honduras;
hr Croatia; ht Haiti; hu Hungary; id Indonesia; ie Ireland; il Israel; im Isle of Man; in India;
io British Indian Ocean Territory; iq Iraq; ir Iran; is Iceland; it Italy; je Jersey; jm Jamaica; jo Jordan; jp Japan;
ke Kenya; kg Kyrgyzstan; kh Cambodia; ki Kiribati; km Comoros; kn Saint Kitts and Nevis; kp North Korea; kr South Korea;
kw Kuwait; ky Cayman Islands; kz Kazakhstan; la Laos; lb Lebanon; lc Saint Lucia; li Liechtenstein; lk Sri Lanka;
lr Liberia; ls Lesotho; lt Lithuania; lu Luxembourg; lv Latvia; ly Libya; ma Morocco; mc Monaco; md Moldova;
me Montenegro; mg Madagascar; mh Marshall Islands; mk North Macedonia; ml Mali; mm Myanmar; mn Mongolia; mo Macao;
mp Northern Mariana Islands; mq Martinique; mr Mauritania; ms Montserrat; mt Malta; mu Mauritius; mv Maldives;
mw Malawi; mx Mexico; my Malaysia; mz Mozambique; na Namibia; nc New Caledonia; ne Niger; nf Norfolk Island; ng Nigeria;
ni Nicaragua; nl Netherlands; no Norway; np Nepal; nr Nauru; nu Niue; nz New Zealand; om Oman; pa Panama; pe Peru;
pf French Polynesia; pg Papua New Guinea; ph Philippines; pk Pakistan; pl Poland; pm Saint Pierre and Miquelon;
pn Pitcairn; pr Puerto Rico; ps Palestine; pt Portugal; pw Palau; py Paraguay; qa Qatar; re Réunion; ro Romania;
rs Serbia; ru Russia; rw Rwanda; sa Saudi Arabia; sb Solomon Islands; sc Seychelles; sd Sudan; se Sweden; sg Singapore;
sh Saint Helena; si Slovenia; sk Slovakia; sl Sierra Leone; sm San Marino; sn Senegal; so Somalia; sr Suriname;
ss South Sudan; st São Tomé and Príncipe; su Soviet Union; sv El Salvador; sx Sint Maarten; sy Syria; sz Eswatini;
tc Turks and Caicos Islands; td Chad; tf French Southern Territories; tg Togo; th Thailand; tj Tajikistan; tk Tokelau;
tl Timor-Leste; tm Turkmenistan; tn Tunisia; to Tonga; tr Turkey; tt Trinidad and Tobago; tv Tuvalu; tw Taiwan;
tz Tanzania; ua Ukraine; ug Uganda; uk United Kingdom; us United States; uy Uruguay; uz Uzbekistan; va Vatican City;
vc Saint Vincent and the Grenadines; ve Venezuela; vg British Virgin Islands; vi U.S. Virgin Islands; vn Vietnam;
vu Vanuatu; wf Wallis and Futuna; ws Samoa; ye Yemen; yt Mayotte; za South Africa; zm Zambia; zw Zimbabwe
"""

COUNTRIES: Final = {
    word: name for word, _, name in (each.strip().partition(" ") for each in " ".join(_NAMES.split()).split(";"))
}
"""By top-level domain, in lower case."""


def read(path: Path) -> dict[str, float]:
    """A CSV file with a top-level domain and a number in each line. The first line may be a heading."""
    found: dict[str, float] = {}
    with disk.naming("read", path), open(path, newline="", encoding="utf-8-sig") as file:
        for number, row in enumerate(csv.reader(file), 1):
            if not "".join(row).strip():
                continue
            try:
                found[row[0].strip().lstrip(".").lower()] = float(row[1].replace(",", "").replace(" ", ""))
            except (IndexError, ValueError):
                if number > 1:
                    raise UsageError(
                        f"{path}, line {number}: {','.join(row)!r} is not a top-level domain and a number",
                        "Write lines like: de,1234.5",
                    ) from None
    if not found:
        raise UsageError(f"{path} has no line with a domain and a number", "Write lines like: de,1234.5")
    return found
