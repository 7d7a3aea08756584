/** The default text for comparing language models: prose, dialog, code, and numbers, about 1,200 tokens. */
export const PERPLEXITY_TEXT = `The harbor lay quiet in the early morning. A thin fog hung above the water, and the first boats had already gone out to
sea, their lamps small and yellow in the distance. On the pier an old man mended his net. He had done so every day for forty years,
and his hands no longer needed his eyes. When the girl from the bakery came by, he looked up and smiled. "You are late today," he
said. "The oven would not burn," she answered. "My father says the wood is still wet from the rain." She gave him a loaf of bread, and
he gave her two fish wrapped in paper. Nobody could remember which of them had started this exchange.

Water boils at one hundred degrees Celsius at sea level. At higher altitudes the pressure of the air is lower, and so water boils
at a lower temperature: on a mountain of three thousand meters it is about ninety degrees. That is why beans and potatoes take longer to
cook in the mountains. A pressure cooker works the other way around. Because the steam cannot escape, the pressure inside rises,
and the water becomes hotter than one hundred degrees before it boils. The food is done sooner, and less energy is used.

Question: What is the capital of France?
Answer: The capital of France is Paris. It lies on the river Seine and has about two million inhabitants.
Question: How many days are there in a leap year?
Answer: A leap year has 366 days, one more than an ordinary year. The additional day is the 29th of February.
Question: If a train travels 180 kilometers in two hours, how fast is it on average?
Answer: The average speed is the distance divided by the time: 180 km / 2 h = 90 km/h.

To read the settings of a program, open the file, split it into lines, and ignore those that are empty or begin with a hash:

def read_settings(path):
    settings = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            name, separator, value = line.partition("=")
            if not separator:
                raise ValueError(f"{path}, line {number}: expected name=value")
            settings[name.strip()] = value.strip()
    return settings

The same in a few words of JavaScript:

const settings = Object.fromEntries(
  text
    .split("\\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => line.split("=").map((part) => part.trim())),
)

The city council met on Tuesday evening to discuss the new bridge. Three plans had been submitted, at a cost of 4.2, 5.7 and 6.1
million. The cheapest would close the old crossing for eighteen months, which the shopkeepers of Mill Street could not accept. "We would
lose a third of our customers," said Maria Lindqvist, who has sold flowers there since 1998. The engineers preferred the second plan: it
keeps one lane open, and the foundation does not depend on the level of the river. After two hours the members voted, nine to four, to ask
for a more detailed estimate before the end of March. The mayor was not pleased. A decision, she said, had been promised for this year.

A recipe for pancakes: mix 250 grams of flour with a pinch of salt. Beat three eggs into half a liter of milk, pour the mixture slowly
into the flour, and stir until there are no more lumps. Let the batter rest for twenty minutes. Melt a little butter in a pan, pour in
enough batter to cover the bottom, and turn the pancake when its edge begins to brown. Serve with sugar and lemon, or with apples
that were cooked with cinnamon.

Dear Mr. Okafor,
thank you for your letter of June 14. We are sorry that the lamp arrived with a broken shade. A new one was sent to you this morning,
and should arrive within three working days. You need not return the damaged part. If you have any further questions, please write to us
or call between nine and five.
Yours sincerely,
Hannah Weber

Light from the sun needs a little more than eight minutes to reach the earth. From the nearest other star it takes over four years, and from
the far side of our galaxy tens of thousands. Whoever looks at the night sky therefore looks into the past: each star is seen as it was
when its light set out, and some of them may not be there any more.`
