"""The English sites of the ring."""

from tests.site.tree.place import Page, Place

LIGHTHOUSE = Place(
    key="lighthouse",
    lang="en",
    name="Gull Point Light",
    motto="A keeper's log, kept since 1871",
    accent="#26466e",
    paper="#f7f1e6",
    moved=("/log/tonight", "/log/fog"),
    pages=(
        Page(
            "/",
            "The log of Gull Point Light",
            "One lamp, one keeper, eleven gulls with opinions. The lamp has missed four nights in a hundred and fifty "
            "years, and we can tell you about each of them.",
            (
                "The light stands on the last rock of the point, where the coast road gives up. It flashes twice every "
                "fifteen seconds, which is long enough to pour tea and short enough to notice when it does not.",
                "Every keeper has written in the same kind of book: weather on the left page, everything else on the "
                "right. We are copying the right-hand pages out for you, a few each winter.",
            ),
            ("/log/fog", "/lamp", "/gulls"),
        ),
        Page(
            "/log/fog",
            "Forty hours of fog",
            "From the log of November: horn sounded 4,800 times, milk delivered once, by rope.",
            (
                "It came in at the turn of the tide, low and polite, and stayed like an aunt. By the second evening "
                "the gulls were walking.",
                "A collier anchored close enough that we could hear her cook sing. We never saw her. In the morning "
                "there was a cake on the landing, wrapped in oilcloth, and no ship.",
            ),
            ("/log/cake", "/log/rope"),
        ),
        Page(
            "/lamp",
            "How the lamp works",
            "A thousand and eight prisms, one bulb the size of a pear, and a clockwork that must be wound at four.",
            (
                "The lens is of the first order and floats on a bath of quicksilver, so that a child could turn it "
                "with one finger. Children have been asked not to.",
                "Each prism bends the light a little more than the one beneath it, until all of it goes the same way: "
                "outward, over the water, to whoever needs it.",
            ),
            ("/lamp/prisms", "/lamp/winding"),
            "gallery",
        ),
        Page(
            "/gulls",
            "A census of the gulls",
            "Taken every first of May at breakfast, for reasons that become clear at breakfast.",
            (
                "Eleven this year. The one with the limp is called the Admiral and is saluted.",
                "They are counted from the gallery, by hat colour of the counter, because they remember.",
            ),
            ("/gulls/admiral",),
        ),
        Page(
            "/log/cake",
            "The cake from nowhere",
            "Ginger, with a whole lemon in it.",
            (
                "We wrote to eleven shipping companies. Three answered. One sent a recipe.",
                "It has been baked here every foggy November since, and a slice is left on the landing.",
            ),
            ("/log/recipe",),
        ),
        Page(
            "/log/rope",
            "Milk by rope",
            "A note on deliveries.",
            (
                "The can comes over the gap on a line, forty metres, with a bell on it.",
                "In a westerly it arrives as butter.",
            ),
        ),
        Page(
            "/lamp/prisms",
            "Counting the prisms",
            "It takes a day and a soft cloth.",
            ("One thousand and eight. Twice we have found one thousand and nine, and once we found a spider.",),
        ),
        Page(
            "/lamp/winding",
            "Winding at four",
            "Two hundred turns, never more.",
            ("The two-hundred-and-first turn was made once, in 1903. The dent in the ceiling is still shown.",),
        ),
        Page(
            "/gulls/admiral",
            "The Admiral",
            "Portrait of a gull.",
            ("He arrived with a limp and a herring and has lacked for neither since.",),
        ),
        Page(
            "/log/recipe",
            "Ginger cake for fog",
            "As sent by the third shipping company.",
            ("Flour, ginger, treacle, a whole lemon, patience. Bake until the horn stops.",),
        ),
    ),
)

CLOUDS = Place(
    key="clouds",
    lang="en",
    name="The Museum of Clouds",
    motto="Admission free, exhibits fleeting",
    accent="#2f6cae",
    paper="#f3f8fd",
    dangling="/halls/yesterday",
    dangling_on="/halls/cumulus",
    pages=(
        Page(
            "/",
            "A museum without a ceiling",
            "The only museum whose whole collection is replaced every twenty minutes, at no cost to the public.",
            (
                "We opened with a field, a bench and a very good catalogue. The field and the bench have been kept.",
                "Visitors are asked not to touch the exhibits, and in the hundred and six years so far only the "
                "balloonists have had to be spoken to.",
            ),
            ("/halls/cumulus", "/halls/cirrus", "/sightings"),
        ),
        Page(
            "/halls/cumulus",
            "The cumulus hall",
            "Fair-weather pieces, mostly of animals.",
            (
                "The classic period: flat base, domed crown, a strong tendency toward sheep.",
                "Our finest, Sheep with Second Thoughts, was on display for nine minutes in June.",
            ),
            ("/halls/cumulus/sheep", "/halls/cumulus/castle"),
        ),
        Page(
            "/halls/cirrus",
            "The cirrus gallery",
            "Works on ice, brushed at ten thousand metres.",
            (
                "The masters of this school work in ice crystals and a single stroke. They never sign.",
                "Best seen lying down. Blankets are lent at the desk against a promise to bring them back.",
            ),
            ("/halls/cirrus/mares-tails", "/halls/cirrus/contrails"),
            "gallery",
        ),
        Page(
            "/sightings",
            "Sightings, newest first",
            "Sent in by visitors. Scroll on: the sky has been going for some time.",
            ("Each entry names the place, the hour and what it looked like to the person who was looking.",),
            ("/sightings/rules",),
            "feed",
        ),
        Page(
            "/halls/cumulus/sheep",
            "Sheep with Second Thoughts",
            "Cumulus humilis on blue, nine minutes.",
            ("It set out confidently over the hedge and then, visibly, wondered.",),
            ("/halls/cumulus/sheep/critics",),
        ),
        Page(
            "/halls/cumulus/castle",
            "Castle, Leaving",
            "Cumulus congestus, a Thursday.",
            ("Three towers on arrival; by the time the guide had found the page there were two and a teapot.",),
        ),
        Page(
            "/halls/cirrus/mares-tails",
            "Mares' tails",
            "Permanent loan of the westerlies.",
            ("They mean rain by tomorrow night, or a change of exhibition, which comes to the same thing.",),
        ),
        Page(
            "/halls/cirrus/contrails",
            "The contrail question",
            "Are they art?",
            ("The committee has met eleven times. The minutes drift off toward the end.",),
        ),
        Page(
            "/sightings/rules",
            "How to send a sighting",
            "Look up, wait, write it down.",
            ("One cloud a day for each person. Dragons must be countersigned.",),
        ),
        Page(
            "/halls/cumulus/sheep/critics",
            "What the critics said",
            "A selection.",
            ("“Woolly.” “Derivative of weather.” “I too have been that sheep.”",),
        ),
    ),
)

ORCHARD = Place(
    key="orchard",
    lang="en",
    name="The Pocket Orchard",
    motto="Nineteen trees, nineteen arguments",
    accent="#8f342d",
    paper="#fbf6e8",
    pages=(
        Page(
            "/",
            "Nineteen trees behind a bakery",
            "You can walk round it in four minutes, or in an afternoon if you ask about the pears.",
            (
                "The orchard was planted by a baker who could not agree with himself about apples, and so planted one "
                "of each. No two trees ripen in the same week.",
                "We sell by the pocket. Bring a coat with good ones.",
            ),
            ("/early", "/late", "/visit"),
        ),
        Page(
            "/early",
            "Early apples",
            "July to the end of August: bright, brief, bruised by strong opinions.",
            (
                "An early apple is a telegram. It says one thing and says it at once.",
                "Eat them under the tree. By the gate is already a little late.",
            ),
            ("/early/minnow", "/early/bell"),
            "gallery",
        ),
        Page(
            "/late",
            "Late keepers",
            "Picked in October, argued over until March.",
            (
                "A keeper goes into the loft hard and sour and comes out in February with something to say.",
                "Each is wrapped in a page of last year's newspaper, so that the loft is also an archive.",
            ),
            ("/late/lantern", "/late/old-ned"),
        ),
        Page(
            "/visit",
            "Visiting",
            "Open when the gate is. Knock at the bakery when it is not.",
            ("The path is narrow and the dog is wide. Please give way to the dog.",),
            ("/visit/dog",),
            "guestbook",
        ),
        Page(
            "/early/minnow",
            "Minnow",
            "Small, quick, silver-green.",
            ("Gone in nine days. The blackbirds have it marked in their calendar.",),
        ),
        Page(
            "/early/bell",
            "Bell of the Yard",
            "Rings when it falls on the shed.",
            ("A tin roof and a ripe apple: the orchard's only clock.",),
        ),
        Page(
            "/late/lantern",
            "Winter Lantern",
            "Yellow enough to read by.",
            ("Found in 1911 in the hedge, growing from what must have been somebody's lunch.",),
            ("/late/lantern/graft",),
        ),
        Page(
            "/late/old-ned",
            "Old Ned",
            "Named for a horse.",
            ("Russet, patient, better than it looks. The horse was the same.",),
        ),
        Page("/visit/dog", "The dog", "Frequently asked.", ("Yes. Behind the left ear. No, not the windfalls.",)),
        Page(
            "/late/lantern/graft",
            "Grafting the Lantern",
            "Scions go out in February.",
            ("Two buds, a slanted cut, a strip of cloth. Then you must not look at it for a month.",),
        ),
    ),
)
