package main

// What is drawn from when a table, a log or a morning's questions are made up.
var (
	tools = []string{
		"Akkuschrauber 18 V", "Bohrhammer SDS-plus", "Schlagbohrmaschine", "Schwingschleifer", "Exzenterschleifer", "Bandschleifer",
		"Stichsäge", "Handkreissäge", "Tapeziertisch 3 m", "Stehleiter 8 Stufen", "Anlegeleiter 6 m", "Wasserwaage 120 cm",
		"Laser-Entfernungsmesser", "Fliesenschneider 60 cm", "Nasssäge 250 mm", "Heißluftpistole", "Lötstation", "Drehmomentschlüssel",
		"Heckenschere", "Rasenkantenstecher", "Häcksler 2,5 kW", "Teppichreiniger", "Dampfreiniger", "Hochdruckreiniger", "Nähmaschine",
		"Overlock", "Schraubstock", "Zwingensatz 12-teilig", "Oberfräse", "Dübelfräse", "Mörtelrührer", "Kabeltrommel 50 m",
		"Rohrreinigungsspirale", "Gewindeschneider", "Parkettschleifer", "Winkelschleifer 125 mm", "Kompressor 24 l", "Farbsprühpistole",
	}
	toolGroups = []string{"power tools", "hand tools", "garden", "ladders", "measuring"}
	firstNames = []string{
		"Anna", "Jan", "Lena", "Mehmet", "Sofia", "Piotr", "Keiko", "Haruto", "Aylin", "Lukas", "Marta", "Ole", "Ines", "Tariq", "Svea",
		"Ruth", "Emil", "Noor", "Greta", "Vincent", "Magda", "Kenji", "Thea", "Samir", "Wanda", "Fynn", "Elif", "Björn", "Chiara", "Dmitri",
	}
	lastNames = []string{
		"Kowalczyk", "Schulz", "Yilmaz", "Tanaka", "Nowak", "Brandt", "Petersen", "Öztürk", "Lindner", "Sato", "Wojcik", "Hoffmann",
		"Rossi", "Haddad", "Krüger", "Jensen", "Aydin", "Mazur", "Richter", "Okafor", "Weiß", "Kaya", "Zielinski", "Vogel",
	}
	volunteers     = []string{"Amina", "Béla", "Carlos", "Frieda", "Hanh", "Jonas", "Maren", "Ngozi", "Paweł", "Tomasz", "Zoë"}
	testSubjects   = []string{"Overlap", "Deposit", "Renewal", "Return", "Scan", "Label", "Search", "Reminder", "Clock", "Import", "Plural", "Door", "Status", "Quarantine", "Webhook", "Fee", "Signup", "Rota", "Photo", "Migration"}
	testVerbs      = []string{"Rejects", "Accepts", "RoundTrip", "Empty", "Twice", "Order", "Limits", "Unicode", "Concurrent", "AfterMidnight", "Summer", "Restart"}
	commitVerbs    = []string{"Fix", "Add", "Remove", "Simplify", "Test", "Document", "Rename", "Speed up", "Guard"}
	commitSubjects = []string{"the reservation calendar", "label layout", "deposit tiers", "reminder templates", "Polish plurals", "the kiosk's return page", "photo thumbnails", "door nonce", "migration runner", "search ranking", "import report", "member export", "fee page", "health endpoint", "request log", "rota form"}
	requestMethods = []string{"GET", "GET", "GET", "POST"}
	requestPaths   = []string{"/item/TL-%04d", "/loan/TL-%04d", "/search?page=%d", "/photo/TL-%04d.jpg", "/member/me?n=%d", "/kiosk/return/TL-%04d", "/reserve/TL-%04d", "/label/TL-%04d"}
	journalLines   = []string{"Starting service", "Loaded configuration", "Client connected from 10.20.4.31", "Saved state to disk", "Listening", "Reload requested", "Keepalive timeout, closing", "Health check ok", "Rotated log", "Watchdog ping"}
	deploySteps    = []string{"build image", "run migrations", "push layer", "pull manifest", "drain old pods", "start new pods", "probe /health", "switch traffic", "remove old image"}
	shopTables     = []string{"items", "members", "loans", "reservations", "prints", "photos", "volunteers", "shifts", "signups"}
	userAgents     = []string{"OrdersAndroid/5.31", "OrdersAndroid/5.31", "OrdersIOS/5.30", "curl/8.5"}
	planNodes      = []string{"Seq Scan", "Index Scan", "Nested Loop", "Hash Join", "Sort", "Bitmap Heap Scan", "Materialize"}
	planTables     = []string{"orders_2026_04", "order_lines", "customers", "payments", "warehouses", "stock"}
)

// question is something that a member asked and what is answered.
type question struct{ asked, answer string }

var questions = []question{
	{"Can I borrow the sewing machine for a whole month?", "No: 7 days and one renewal, so two weeks. The neighbourhood centre in the Sonntagstraße lends theirs for a month."},
	{"My reservation of the tile cutter vanished after I changed my mail address.", "The reservation hangs on member number, not on the address; it was in the other account. Both accounts are merged."},
	{"Do you have a 14 mm square drive socket?", "Not as a set, but socket 14 of TL-0277 fits with the 1/2 inch adapter TL-0278."},
	{"Is the carpet cleaner safe for wool?", "Cold water only and no oxygen bleach; the sheet in the lid says 30 °C at most."},
	{"Why is there a deposit at all if I am a member?", "Because the insurer pays only above 250 €; small damage is between us."},
	{"The QR code on the belt sander leads to a 404.", "It pointed to the old id 71; the label was printed before the swap of 71 and 188. New label printed."},
	{"Can my daughter (17) pick up the ladder?", "No, the policy says 18 or older. She can come along, you sign."},
	{"I broke a drill bit, what do I owe?", "Nothing: bits up to 12 mm are wear. Please tell us so that we replace it."},
	{"Which plaster mixer speed for tile adhesive?", "Gear one, about 400 to 550 rpm, paddle with right-hand helix so that it does not spray."},
	{"Could I get an invoice for the landlord?", "Yes, the fee is for the membership; I can print a receipt with the loan dates."},
	{"Do you take donations of old tools?", "Gladly if they pass the electrical test; no petrol engines, no chain saws."},
	{"Is the shop reachable with a wheelchair?", "Yes, ramp at the yard entrance, bell at 90 cm. The kiosk can be lowered."},
	{"My phone does not join the shop wifi for the door.", "Android hides it because the network has no internet. Choose \"stay connected\"; the sign now says so."},
	{"The torque wrench was out by 8 percent at my garage.", "Taken out of the shelf, calibrated against the one of Béla: 7.6 percent at 80 Nm. Quarantine until the service is back."},
	{"Can you lend a projector?", "It is not a tool, but Frieda has one and would lend it privately; I gave no address."},
	{"I returned the hedge trimmer at 20:10 and the door was shut.", "The door closes at 20:00; the fee for a late day was cancelled because somebody was still inside."},
	{"Does the compressor fit a 6 mm hose?", "It has a 7.2 mm coupling; adapter TL-0391 hangs on the hose reel."},
	{"How loud is the shredder? My neighbours are strict.", "96 dB(A) at the operator. In this district only on weekdays from 9 to 13 and 15 to 17 o'clock."},
	{"Can I reserve for a friend?", "Only who carries it home can sign for it. Your friend needs a membership; the first month is free."},
	{"What does quarantine mean on the page?", "A tool came back with a fault and somebody looks at it. It says nothing about people. We changed the text to \"being checked\"."},
	{"Is there a list of all tools as a table?", "Yes, /items.csv, updated every night at 02:10; 408 rows now."},
	{"Could the reminder come in the evening instead of the morning?", "At 18:30 if you choose \"evening\" in your settings; never between 21 and 8 o'clock."},
	{"The steam cleaner spits brown water.", "Limescale: descaled with 2 percent citric acid, three rounds. It is back on shelf C4."},
	{"Do I need to clean the paint gun?", "Yes, with water at once. A clogged nozzle costs 14 €, that is the only thing we charge for."},
	{"Which ladder for a ceiling of 3.40 m?", "The stepladder with 8 steps: working height 3.75 m. The 6 m leaning ladder is for outside."},
	{"Can I pay the fee in two parts?", "Yes, 18 € now and 18 € in September. Zoë enters it by hand."},
}
