"""The text of the demonstration Web in eight languages: phrases that fit together in any combination.

A sentence is a pattern with slots: S someone, V what they do, P where, T when. Phrases carry their articles and
endings, so that every combination is grammatical, and language detection has real sentences to work on.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Language(NamedTuple):
    """The phrases and words of one language."""

    someone: tuple[str, ...]
    does: tuple[str, ...]
    where: tuple[str, ...]
    when: tuple[str, ...]
    patterns: tuple[str, ...]
    space: str
    """The separator of words and sentences."""
    home: str
    calendar: str
    earlier: str
    later: str
    missing: str
    """The text of a page that does not exist."""


def phrases(text: str) -> tuple[str, ...]:
    return tuple(" ".join(part.split()) for part in text.split("/"))


ENGLISH: Final = Language(
    phrases("""the old baker / a young teacher / the captain of the ferry / our neighbour / the museum guide /
        a travelling musician / the village doctor / the owner of the mill / a student from the north / the librarian /
        the gardener / a retired engineer / the station master / my older sister / the city council /
        the night watch"""),
    phrases("""sells fresh bread / writes long letters / repairs old clocks / collects maps of the coast /
        teaches children to read / plants apple trees / counts the birds of the season / keeps a careful diary /
        cooks soup for the guests / paints the boats blue / looks after the bees / builds wooden chairs /
        explains the history of the bridge / reads the newspaper aloud / measures the height of the water /
        answers every question with patience"""),
    phrases("""by the river / behind the old church / in the market square / near the harbour /
        at the foot of the mountain / in the public library / on the other side of the lake / in a small house /
        next to the railway station / under the stone bridge / in the garden of the school /
        at the end of the street"""),
    phrases("""every morning / in winter / on Sunday afternoon / after the first rain / before breakfast /
        during the summer holidays / when the shop is closed / since last year"""),
    phrases("""S V P. / T, S V. / S V and V P. / S V, but S V T. / People say that S V P. /
        It is well known that S V, because S V P. / S V P, and nobody knows why. / T S V P."""),
    " ",
    "Home page",
    "Calendar",
    "previous month",
    "next month",
    "We are sorry, but the page that you are looking for does not exist or has been moved to another address.",
)

SPANISH: Final = Language(
    phrases("""el viejo panadero / una joven maestra / el capitán del barco / nuestra vecina / el guía del museo /
        un músico de viaje / el médico del pueblo / la dueña del molino / un estudiante del norte / el bibliotecario /
        la jardinera / un ingeniero jubilado / el jefe de la estación / mi hermana mayor / el consejo de la ciudad /
        la señora de la esquina"""),
    phrases("""vende pan fresco / escribe cartas largas / arregla relojes antiguos / colecciona mapas de la costa /
        enseña a leer a los niños / planta manzanos / cuenta los pájaros de la estación / lleva un diario cuidadoso /
        cocina sopa para los huéspedes / pinta los barcos de azul / cuida las abejas / construye sillas de madera /
        explica la historia del puente / lee el periódico en voz alta / mide la altura del agua /
        responde a cada pregunta con paciencia"""),
    phrases("""junto al río / detrás de la antigua iglesia / en la plaza del mercado / cerca del puerto /
        al pie de la montaña / en la biblioteca pública / al otro lado del lago / en una casa pequeña /
        al lado de la estación / debajo del puente de piedra / en el jardín de la escuela / al final de la calle"""),
    phrases("""cada mañana / en invierno / el domingo por la tarde / después de la primera lluvia / antes del desayuno /
        durante las vacaciones de verano / cuando la tienda está cerrada / desde el año pasado"""),
    phrases("""S V P. / T, S V. / S V y también V P. / S V, pero S V T. / La gente dice que S V P. /
        Todo el mundo sabe que S V, porque S V P. / S V P, y nadie sabe por qué. / T S V P."""),
    " ",
    "Página de inicio",
    "Calendario",
    "mes anterior",
    "mes siguiente",
    "Lo sentimos mucho, pero la página que usted está buscando no existe o ha cambiado de dirección.",
)

GERMAN: Final = Language(
    phrases("""der alte Bäcker / eine junge Lehrerin / der Kapitän der Fähre / unsere Nachbarin / der Führer im Museum /
        ein reisender Musiker / der Arzt im Dorf / die Besitzerin der Mühle / ein Student aus dem Norden /
        der Bibliothekar / die Gärtnerin / ein Ingenieur im Ruhestand / der Vorsteher des Bahnhofs /
        meine ältere Schwester / der Rat der Stadt / die Frau von gegenüber"""),
    phrases("""verkauft frisches Brot / schreibt lange Briefe / repariert alte Uhren / sammelt Karten der Küste /
        bringt Kindern das Lesen bei / pflanzt Apfelbäume / zählt die Vögel / führt ein sorgfältiges Tagebuch /
        kocht Suppe für die Gäste / streicht die Boote blau / kümmert sich um die Bienen / baut Stühle aus Holz /
        erklärt die Geschichte der Brücke / liest laut aus der Zeitung vor / misst die Höhe des Wassers /
        beantwortet jede Frage mit Geduld"""),
    phrases("""am Fluss / hinter der alten Kirche / auf dem Marktplatz / in der Nähe des Hafens / am Fuß des Berges /
        in der öffentlichen Bücherei / auf der anderen Seite des Sees / in einem kleinen Haus / neben dem Bahnhof /
        unter der steinernen Brücke / im Garten der Schule / am Ende der Straße"""),
    phrases("""jeden Morgen / im Winter / am Sonntagnachmittag / nach dem ersten Regen / vor dem Frühstück /
        während der Sommerferien / bei geschlossenem Laden / seit dem letzten Jahr"""),
    phrases("""S V P. / S V T. / S V und V P. / S V, aber S V T. / Die Leute erzählen: S V P. /
        Das weiß jeder: S V, denn S V P. / S V P, und niemand kennt den Grund. / S V, und zwar T."""),
    " ",
    "Startseite",
    "Kalender",
    "voriger Monat",
    "nächster Monat",
    "Leider gibt es die Seite nicht, die Sie suchen, oder sie hat jetzt eine andere Adresse bekommen.",
)

FRENCH: Final = Language(
    phrases("""le vieux boulanger / une jeune institutrice / le capitaine du bateau / notre voisine /
        le guide du musée / un musicien en voyage / le médecin du village / la propriétaire du moulin /
        un étudiant du nord / le bibliothécaire / la jardinière / un ingénieur à la retraite / le chef de gare /
        ma sœur aînée / le conseil de la ville / la dame d'en face"""),
    phrases("""vend du pain frais / écrit de longues lettres / répare de vieilles horloges /
        rassemble des cartes de la côte / apprend à lire aux enfants / plante des pommiers /
        compte les oiseaux de la saison / tient un journal avec soin / prépare une soupe pour les invités /
        peint les bateaux en bleu / s'occupe des abeilles / fabrique des chaises en bois / explique l'histoire du pont /
        lit le journal à voix haute / mesure la hauteur de l'eau / répond à chaque question avec patience"""),
    phrases("""au bord de la rivière / derrière la vieille église / sur la place du marché / près du port /
        au pied de la montagne / dans la bibliothèque publique / de l'autre côté du lac / dans une petite maison /
        à côté de la gare / sous le pont de pierre / dans le jardin de l'école / au bout de la rue"""),
    phrases("""chaque matin / en hiver / le dimanche après-midi / après la première pluie / avant le petit déjeuner /
        pendant les vacances d'été / quand le magasin est fermé / depuis l'année dernière"""),
    phrases("""S V P. / T, S V. / S V et V P. / S V, mais S V T. / On raconte ceci : S V P. /
        Tout le monde le sait : S V, car S V P. / S V P, et personne ne sait pourquoi. / T, S V P."""),
    " ",
    "Page d'accueil",
    "Calendrier",
    "mois précédent",
    "mois suivant",
    "Nous sommes désolés, mais la page que vous cherchez n'existe pas ou se trouve à une autre adresse.",
)

RUSSIAN: Final = Language(
    phrases("""старый пекарь / молодая учительница / капитан парома / наша соседка / экскурсовод музея /
        бродячий музыкант / деревенский врач / хозяйка мельницы / студент с севера / библиотекарь / садовник /
        инженер на пенсии / начальник станции / моя старшая сестра / городской совет / ночной сторож"""),
    phrases("""продаёт свежий хлеб / пишет длинные письма / чинит старые часы / собирает карты побережья /
        учит детей читать / сажает яблони / считает птиц / ведёт подробный дневник / варит суп для гостей /
        красит лодки в синий цвет / ухаживает за пчёлами / делает деревянные стулья / рассказывает историю моста /
        читает вслух газету / измеряет высоту воды / терпеливо отвечает на каждый вопрос"""),
    phrases("""у реки / за старой церковью / на рыночной площади / недалеко от гавани / у подножия горы /
        в городской библиотеке / на другом берегу озера / в маленьком доме / рядом с вокзалом / под каменным мостом /
        в школьном саду / в конце улицы"""),
    phrases("""каждое утро / зимой / в воскресенье днём / после первого дождя / перед завтраком /
        во время летних каникул / когда магазин закрыт / с прошлого года"""),
    phrases("""S V P. / T S V. / S V и ещё V P. / S V, но S V T. / Люди говорят, что S V P. /
        Все знают, что S V, потому что S V P. / S V P, и никто не знает почему. / T S V P."""),
    " ",
    "Главная страница",
    "Календарь",
    "предыдущий месяц",
    "следующий месяц",
    "К сожалению, страница, которую вы ищете, не существует или была перенесена на другой адрес.",
)

GREEK: Final = Language(
    phrases("""ο γέρος φούρναρης / μια νέα δασκάλα / ο καπετάνιος του πλοίου / η γειτόνισσά μας /
        ο ξεναγός του μουσείου / ένας περιπλανώμενος μουσικός / ο γιατρός του χωριού / η ιδιοκτήτρια του μύλου /
        ένας φοιτητής από τον βορρά / ο βιβλιοθηκάριος / η κηπουρός / ένας συνταξιούχος μηχανικός / ο σταθμάρχης /
        η μεγάλη μου αδελφή / το συμβούλιο της πόλης / ο νυχτοφύλακας"""),
    phrases("""πουλάει φρέσκο ψωμί / γράφει μεγάλα γράμματα / επισκευάζει παλιά ρολόγια / μαζεύει χάρτες της ακτής /
        μαθαίνει στα παιδιά να διαβάζουν / φυτεύει μηλιές / μετράει τα πουλιά / κρατάει προσεκτικό ημερολόγιο /
        μαγειρεύει σούπα για τους επισκέπτες / βάφει τις βάρκες μπλε / φροντίζει τις μέλισσες /
        φτιάχνει ξύλινες καρέκλες / εξηγεί την ιστορία της γέφυρας / διαβάζει δυνατά την εφημερίδα /
        μετράει το ύψος του νερού / απαντά σε κάθε ερώτηση με υπομονή"""),
    phrases("""δίπλα στο ποτάμι / πίσω από την παλιά εκκλησία / στην πλατεία της αγοράς / κοντά στο λιμάνι /
        στους πρόποδες του βουνού / στη δημόσια βιβλιοθήκη / στην άλλη πλευρά της λίμνης / σε ένα μικρό σπίτι /
        δίπλα στον σταθμό / κάτω από την πέτρινη γέφυρα / στον κήπο του σχολείου / στο τέλος του δρόμου"""),
    phrases("""κάθε πρωί / τον χειμώνα / την Κυριακή το απόγευμα / μετά την πρώτη βροχή / πριν από το πρωινό /
        στις καλοκαιρινές διακοπές / όταν το μαγαζί είναι κλειστό / από πέρυσι"""),
    phrases("""S V P. / T S V. / S V και V P. / S V, αλλά S V T. / Ο κόσμος λέει ότι S V P. /
        Όλοι ξέρουν ότι S V, γιατί S V P. / S V P, και κανείς δεν ξέρει γιατί. / T S V P."""),
    " ",
    "Αρχική σελίδα",
    "Ημερολόγιο",
    "προηγούμενος μήνας",
    "επόμενος μήνας",
    "Λυπούμαστε, αλλά η σελίδα που ψάχνετε δεν υπάρχει ή έχει μεταφερθεί σε άλλη διεύθυνση.",
)

JAPANESE: Final = Language(
    phrases("""年を取ったパン屋 / 若い先生 / 船の船長 / 私たちの隣人 / 博物館の案内人 / 旅の音楽家 / 村の医者 /
        水車小屋の持ち主 / 北から来た学生 / 図書館の司書 / 庭師 / 引退した技術者 / 駅長 / 私の姉 / 市の議会 /
        夜の警備員"""),
    phrases("""焼きたてのパンを売っています / 長い手紙を書いています / 古い時計を直しています /
        海岸の地図を集めています / 子供たちに読み方を教えています / りんごの木を植えています / 季節の鳥を数えています /
        丁寧に日記をつけています / お客さんのためにスープを作っています / 船を青く塗っています /
        蜜蜂の世話をしています / 木の椅子を作っています / 橋の歴史を説明しています / 声を出して新聞を読んでいます /
        水の高さを測っています / どの質問にも辛抱強く答えています"""),
    phrases("""川のそばで / 古い教会の裏で / 市場の広場で / 港の近くで / 山のふもとで / 公共の図書館で /
        湖の向こう側で / 小さな家で / 駅の隣で / 石の橋の下で / 学校の庭で / 通りの終わりで"""),
    phrases("""毎朝 / 冬になると / 日曜日の午後に / 最初の雨の後で / 朝ご飯の前に / 夏休みの間 / 店が閉まっている時 /
        去年から"""),
    phrases("""SはPV。 / T、SはV。 / SはV。そしてPV。 / SはVが、SはTV。 / 人々の話では、SはPV。 /
        みんなが知っているように、SはPV。 / SはPVが、その理由は誰も知りません。 / TSはPV。"""),
    "",
    "ホームページ",
    "カレンダー",
    "前の月",
    "次の月",
    "申し訳ありませんが、お探しのページは存在しないか、別の場所に移動した可能性があります。もう一度ご確認ください。",
)

CHINESE: Final = Language(
    phrases("""年老的面包师 / 一位年轻的老师 / 渡船的船长 / 我们的邻居 / 博物馆的讲解员 / 一位旅行的音乐家 /
        村里的医生 / 磨坊的主人 / 一个从北方来的学生 / 图书管理员 / 那位园丁 / 一位退休的工程师 / 火车站的站长 /
        我的姐姐 / 城市的议会 / 守夜的人"""),
    phrases("""卖新鲜的面包 / 写很长的信 / 修理旧钟表 / 收集海岸的地图 / 教孩子们读书 / 种苹果树 / 数这个季节的鸟 /
        认真地写日记 / 给客人们煮汤 / 把小船漆成蓝色 / 照顾蜜蜂 / 做木头椅子 / 讲解这座桥的历史 / 大声地读报纸 /
        测量水的高度 / 耐心地回答每一个问题"""),
    phrases("""在河边 / 在老教堂的后面 / 在市场的广场上 / 在港口附近 / 在山脚下 / 在公共图书馆里 / 在湖的另一边 /
        在一座小房子里 / 在火车站旁边 / 在石桥下面 / 在学校的花园里 / 在街道的尽头"""),
    phrases("每天早上 / 在冬天 / 星期天下午 / 第一场雨以后 / 吃早饭以前 / 暑假的时候 / 商店关门的时候 / 从去年开始"),
    phrases("""SPV。 / T，SV。 / SV，还PV。 / SV，但是ST也V。 / 人们说，SPV。 / 大家都知道SV，因为SPV。 /
        SPV，没有人知道为什么。 / TSPV。"""),
    "",
    "首页",
    "日历",
    "上个月",
    "下个月",
    "很抱歉，您要找的网页不存在，或者已经移动到另一个地址。请您检查一下网址，然后再试一次，谢谢您的理解。",
)

LANGUAGES: Final = {
    "en": ENGLISH, "es": SPANISH, "de": GERMAN, "fr": FRENCH, "ru": RUSSIAN, "el": GREEK, "ja": JAPANESE, "zh": CHINESE,
}  # fmt: skip
