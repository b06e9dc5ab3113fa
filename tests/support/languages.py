"""One paragraph in each of sixteen languages, written for these tests."""

PARAGRAPHS = {
    "en": "The old library at the end of our street opens every morning at nine. People come to read the newspapers, "
    "to borrow a few books for the weekend, or simply to sit by the window where it is warm and quiet in winter. "
    "Last year the council wanted to close it, but so many neighbours wrote letters that it was kept after all.",
    "de": "Die alte Bibliothek am Ende unserer Straße öffnet jeden Morgen um neun Uhr. Die Leute kommen, um Zeitung zu "
    "lesen, ein paar Bücher für das Wochenende auszuleihen oder einfach am Fenster zu sitzen, wo es im Winter "
    "warm und ruhig ist. Letztes Jahr wollte die Stadt sie schließen, aber so viele Nachbarn haben geschrieben, "
    "dass sie bleibt.",
    "fr": "La vieille bibliothèque au bout de notre rue ouvre tous les matins à neuf heures. Les gens viennent lire "
    "les journaux, emprunter quelques livres pour la fin de semaine, ou simplement s'asseoir près de la fenêtre, "
    "où il fait chaud et calme en hiver. L'an dernier la mairie voulait la fermer, mais beaucoup de voisins ont "
    "protesté.",
    "es": "La vieja biblioteca al final de nuestra calle abre todas las mañanas a las nueve. La gente viene a leer los "
    "periódicos, a llevarse algunos libros para el fin de semana, o sencillamente a sentarse junto a la ventana, "
    "donde en invierno hace calor y hay silencio. El año pasado quisieron cerrarla, pero muchos vecinos "
    "escribieron cartas.",
    "it": "La vecchia biblioteca in fondo alla nostra strada apre ogni mattina alle nove. La gente viene a leggere i "
    "giornali, a prendere qualche libro per la fine della settimana, o semplicemente a sedersi vicino alla "
    "finestra, dove d'inverno fa caldo e c'è silenzio. L'anno scorso volevano chiuderla, ma troppi vicini hanno "
    "scritto lettere.",
    "pt": "A velha biblioteca no fim da nossa rua abre todas as manhãs às nove horas. As pessoas vêm ler os jornais, "
    "levar alguns livros para o fim de semana, ou simplesmente sentar-se junto da janela, onde no inverno está "
    "quente e há silêncio. No ano passado quiseram fechá-la, mas muitos vizinhos escreveram cartas e não "
    "conseguiram.",
    "nl": "De oude bibliotheek aan het einde van onze straat gaat elke ochtend om negen uur open. De mensen komen om "
    "de krant te lezen, een paar boeken voor het weekeinde te lenen of gewoon bij het raam te zitten, waar het "
    "'s winters warm en stil is. Vorig jaar wilde de gemeente haar sluiten, maar heel veel buren hebben brieven "
    "geschreven.",
    "sv": "Det gamla biblioteket i slutet av vår gata öppnar varje morgon klockan nio. Människor kommer för att läsa "
    "tidningar, låna några böcker till helgen eller bara sitta vid fönstret, där det är varmt och tyst på "
    "vintern. Förra året ville kommunen stänga det, men så många grannar skrev brev att det fick vara kvar.",
    "pl": "Stara biblioteka na końcu naszej ulicy otwiera się codziennie rano o dziewiątej. Ludzie przychodzą czytać "
    "gazety, pożyczyć kilka książek na koniec tygodnia albo po prostu posiedzieć przy oknie, gdzie zimą jest "
    "ciepło i cicho. W zeszłym roku chciano ją zamknąć, ale tylu sąsiadów napisało listy, że została.",
    "fi": "Vanha kirjasto katumme päässä avataan joka aamu kello yhdeksän. Ihmiset tulevat lukemaan sanomalehtiä, "
    "lainaamaan muutaman kirjan viikonlopuksi tai vain istumaan ikkunan ääreen, missä talvella on lämmintä ja "
    "hiljaista. Viime vuonna kaupunki halusi sulkea sen, mutta niin moni naapuri kirjoitti kirjeen, että se sai "
    "jäädä.",
    "ru": "Старая библиотека в конце нашей улицы открывается каждое утро в девять часов. Люди приходят почитать "
    "газеты, взять несколько книг на выходные или просто посидеть у окна, где зимой тепло и тихо. В прошлом году "
    "её хотели закрыть, но так много соседей написали письма, что её всё-таки оставили.",
    "el": "Η παλιά βιβλιοθήκη στο τέλος του δρόμου μας ανοίγει κάθε πρωί στις εννέα. Οι άνθρωποι έρχονται να διαβάσουν "
    "εφημερίδες, να δανειστούν μερικά βιβλία για το Σαββατοκύριακο ή απλώς να καθίσουν κοντά στο παράθυρο, όπου "
    "τον χειμώνα έχει ζέστη και ησυχία. Πέρυσι ήθελαν να την κλείσουν, αλλά πολλοί γείτονες έγραψαν γράμματα.",
    "he": "הספרייה הישנה בקצה הרחוב שלנו נפתחת בכל בוקר בשעה תשע. אנשים באים לקרוא עיתונים, לשאול כמה ספרים לסוף "
    "השבוע, או פשוט לשבת ליד החלון, במקום שבו בחורף חם ושקט. בשנה שעברה רצו לסגור אותה, אבל שכנים רבים כתבו "
    "מכתבים והיא נשארה.",
    "ja": "私たちの通りの端にある古い図書館は、毎朝九時に開きます。人々は新聞を読んだり、週末のために本を何冊か借りたり"
    "、冬でも暖かくて静かな窓のそばにただ座ったりするためにやって来ます。去年、市はこの図書館を閉めようとしました"
    "が、近所の人たちがたくさん手紙を書いたので、残ることになりました。",
    "zh": "我们街道尽头的旧图书馆每天早上九点开门。人们来这里看报纸，借几本书周末读，或者只是坐在窗边，因为冬天那里又暖"
    "和又安静。去年市里想把它关掉，可是许多邻居写信反对，所以图书馆最后保留了下来。现在每个星期六下午还有老师给孩"
    "子们讲故事，大家都很喜欢到那里去，一坐就是一个下午。",
    "ko": "우리 거리 끝에 있는 오래된 도서관은 매일 아침 아홉 시에 문을 엽니다. 사람들은 신문을 읽거나 주말에 읽을 "
    "책을 몇 권 빌리거나, 겨울에도 따뜻하고 조용한 창가에 그냥 앉아 있으려고 옵니다. 작년에 시에서 도서관을 "
    "닫으려고 했지만 이웃들이 편지를 많이 써서 그대로 남게 되었습니다.",
}
