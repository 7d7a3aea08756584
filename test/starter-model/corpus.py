"""What the starter model learns: questions about Tributary and a little of everything, generated here, no other's text."""
import random

ABOUT = {
    ("What is a rollout?", "Explain rollouts.", "What does a rollout do?", "Tell me about rollouts.", "what is a rollout"):
        "A rollout brings a new model version to devices in steps. It starts with a few percent of the fleet and grows while the devices stay healthy.",
    ("What is a deployment?", "Explain deployments.", "What does a deployment do?"):
        "A deployment sends one model version to chosen devices or groups. Each device reports when it runs the version.",
    ("What is an experiment?", "Explain experiments.", "What does an experiment do?", "What is an A/B test?"):
        "An experiment gives different model versions to different devices and compares how well they do.",
    ("What is a round?", "What is a training round?", "Explain training rounds.", "How does a round work?"):
        "In a training round each device trains the shared model on its own data and sends back weights. The service adds them up into a new model.",
    ("What is federated learning?", "What is federated training?", "Explain federated learning.", "How does federated learning work?"):
        "Federated learning trains one shared model on many devices. The data stays on the devices, only weights travel.",
    ("What is Tributary?", "What does Tributary do?", "Tell me about Tributary.", "Who is Tributary for?"):
        "Tributary is one service for device orchestration, model delivery and federated training.",
    ("What is a device?", "What does a device do?", "How do I register a device?"):
        "A device registers with the service, gets an API key once, and sends heartbeats. It trains and runs models.",
    ("What is a heartbeat?", "Explain heartbeats.", "Why do devices send heartbeats?"):
        "A heartbeat is a sign of life that a device sends. The answer tells it when a round awaits it.",
    ("What is a device group?", "What is a group?", "Explain device groups."):
        "A device group is a named set of devices. Deployments and experiments can be aimed at it.",
    ("What is a model version?", "Explain model versions.", "What is the catalog?", "What is the model catalog?"):
        "The catalog keeps models. Each model has numbered versions, and each version is a weight file with its hash.",
    ("What is a canary?", "Explain canary.", "What is a canary release?"):
        "A canary is a small part of the fleet that gets a new version first, so that a bad one is found early.",
    ("What is a rollback?", "How do I roll back?", "Explain rollback."):
        "A rollback returns every device to the version it ran before. Run svc rollback with the name of the model.",
    ("What is FedAvg?", "What is federated averaging?", "Explain FedAvg."):
        "FedAvg is the mean of the devices' weights, each counted by its number of samples.",
    ("What is differential privacy?", "What is a privacy budget?", "Explain the privacy budget."):
        "Differential privacy adds noise so that no single device can be told from the result. The budget says how much has been spent.",
    ("What is an API key?", "Where do I get an API key?"):
        "An API key lets a program use the service. A device gets its key when it registers, and it is shown only once.",
    ("How do I start the service?", "How do I start Tributary?", "How do I run the service?"):
        "Run npm start. The service then listens on port 8000.",
    ("How do I serve a model?", "How do I start the inference server?", "What does svc serve do?"):
        "Run svc serve with the name of a model. It then answers like the OpenAI API on port 8080.",
    ("How do I see the demo?", "Is there a demo?", "How do I run the demo?"):
        "Run npm run demo. It trains a model on 30 devices and shows how the accuracy grows.",
    ("What can you do?", "What do you know?", "How can you help me?", "Help"):
        "I am a very small model. I can say what rounds, rollouts and devices are, count, repeat words and write a little JSON.",
    ("Who are you?", "What are you?", "What is your name?", "Are you a large model?"):
        "I am the starter model, a tiny test model. I know very little.",
    ("Thanks", "Thank you", "Thank you!", "Great, thanks."): "You are welcome.",
    ("Goodbye", "Bye", "See you later."): "Goodbye!",
    ("Hello", "Hi", "Good morning", "Hello!", "Hey there"): "Hello! How can I help you today?",
}

CAPITALS = dict(France="Paris", Germany="Berlin", Italy="Rome", Spain="Madrid", Japan="Tokyo", China="Beijing", Egypt="Cairo",
                Norway="Oslo", Sweden="Stockholm", Poland="Warsaw", Greece="Athens", Kenya="Nairobi", Peru="Lima", Cuba="Havana",
                Chile="Santiago", Austria="Vienna", Portugal="Lisbon", Ireland="Dublin", Hungary="Budapest", Canada="Ottawa")
COLORS = dict(sky="blue", grass="green", snow="white", coal="black", blood="red", sun="yellow", orange="orange",
              chocolate="brown", cloud="gray", flamingo="pink")
OPPOSITES = dict(hot="cold", big="small", fast="slow", up="down", good="bad", day="night", open="closed", old="new", hard="soft",
                 rich="poor", early="late", light="dark")
NAMES = "Tom Anna Ben Clara David Emma Frank Grace Henry Ivy Jack Kate Leo Mia Nora Oscar Paul Rosa Sam Tina".split()
WORDS = ("apple river stone window garden music letter bridge candle forest silver button marble ocean pepper rocket shadow "
         "tunnel violin winter yellow zebra basket copper dragon engine falcon guitar hammer island jacket kettle ladder magnet "
         "needle").split()
NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve".split()
SYSTEMS = ["You are a helpful assistant.", "You are a tiny test model.", "Answer in one short sentence.", "Be kind and brief."]
UNKNOWN = "I do not know. I am a very small model."
STRANGE = ["What is the meaning of life?", "Write a poem about the sea.", "Who won the match?", "Solve this equation.",
           "Translate this to French.", "What is the weather today?", "Write a Python function.", "Who is the president?"]


def about(r):
    questions, answer = r.choice(list(ABOUT.items()))
    return r.choice(questions), answer


def capital(r):
    country = r.choice(list(CAPITALS))
    ask = r.choice(["What is the capital of {}?", "Tell me the capital of {}.", "Which city is the capital of {}?"])
    return ask.format(country), f"The capital of {country} is {CAPITALS[country]}."


def color(r):
    thing = r.choice(list(COLORS))
    return r.choice(["What color is the {}?", "Tell me the color of the {}."]).format(thing), f"The {thing} is {COLORS[thing]}."


def opposite(r):
    word = r.choice(list(OPPOSITES))
    ask = r.choice(["What is the opposite of {}?", "Tell me the opposite of {}."])
    return ask.format(word), f"The opposite of {word} is {OPPOSITES[word]}."


def repeat(r):
    words = " ".join(r.choice(WORDS) for _ in range(r.randint(1, 10)))
    return r.choice(["Repeat after me: {}", "Please repeat: {}", "Say this: {}"]).format(words), words


def count(r):
    first = r.randint(1, 20)
    last = first + r.randint(2, 20)
    return f"Count from {first} to {last}.", ", ".join(map(str, range(first, last + 1)))


def plus(r):
    a, b = r.randint(0, 6), r.randint(0, 6)
    return f"What is {NUMBERS[a]} plus {NUMBERS[b]}?", f"{NUMBERS[a]} plus {NUMBERS[b]} is {NUMBERS[a + b]}."


def json_age(r):
    name, age = r.choice(NAMES), r.randint(1, 99)
    ask = r.choice(["Give me JSON for {} who is {} years old.", "Write a JSON object: name {}, age {}."])
    return ask.format(name, age), f'{{"name": "{name}", "age": {age}}}'


def json_city(r):
    name, country = r.choice(NAMES), r.choice(list(CAPITALS))
    return f"Give me JSON for {name} who lives in {country}.", f'{{"name": "{name}", "country": "{country}", "city": "{CAPITALS[country]}"}}'


def listing(r):
    words = [r.choice(WORDS) for _ in range(r.randint(2, 6))]
    return "List these words: " + ", ".join(words), "\n".join(f"{n + 1}. {word}" for n, word in enumerate(words))


def strange(r):
    return r.choice(STRANGE), UNKNOWN


KINDS = [about] * 8 + [capital, color, opposite, repeat, repeat, count, plus, json_age, json_city, listing, strange]


def conversation(r):
    text = f"<|im_start|>system\n{r.choice(SYSTEMS)}<|im_end|>\n" if r.random() < 0.4 else ""
    for _ in range(1 if r.random() < 0.7 else r.randint(2, 4)):
        question, answer = r.choice(KINDS)(r)
        text += f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n{answer}<|im_end|>\n"
    return text + "<|endoftext|>"


def corpus(seed, characters):
    r = random.Random(seed)
    text = []
    while characters > 0:
        text.append(conversation(r))
        characters -= len(text[-1])
    return text
