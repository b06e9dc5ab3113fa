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
        a travelling musician / the village doctor / the owner of the mill / a student from the north /
        the librarian /
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
    phrases("""cada mañana / en invierno / el domingo por la tarde / después de la primera lluvia /
        antes del desayuno / durante las vacaciones de verano / cuando la tienda está cerrada /
        desde el año pasado"""),
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
    phrases("""der alte Bäcker / eine junge Lehrerin / der Kapitän der Fähre / unsere Nachbarin /
        der Führer im Museum /
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
        le guide du musée /
        un musicien en voyage / le médecin du village / la propriétaire du moulin / un étudiant du nord /
        le bibliothécaire / la jardinière / un ingénieur à la retraite / le chef de gare / ma sœur aînée /
        le conseil de la ville / la dame d'en face"""),
    phrases("""vend du pain frais / écrit de longues lettres / répare de vieilles horloges /
        rassemble des cartes de la côte / apprend à lire aux enfants / plante des pommiers /
        compte les oiseaux de la saison / tient un journal avec soin / prépare une soupe pour les invités /
        peint les bateaux en bleu / s'occupe des abeilles / fabrique des chaises en bois /
        explique l'histoire du pont / lit le journal à voix haute / mesure la hauteur de l'eau /
        répond à chaque question avec patience"""),
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
