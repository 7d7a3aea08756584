"""Trains a LoRA adapter of a language model in federated rounds: `svc agent --trainer "python train.py base.gguf chats.jsonl"`.

`python train.py --init adapter.safetensors base.gguf` writes the adapter that training begins with: push it to the catalog first.
The base model never leaves the device, nor do the chats: lines of {"input": "...", "expected_output": "..."}.

The agent runs this once per round. What to do and where to write is in the environment:

SERVICE_GLOBAL_WEIGHTS   the global adapter (safetensors)
SERVICE_PLAN             the round's plan, JSON; its hyperparameters are the ones the round was started with
SERVICE_OUTPUT_WEIGHTS   where the new adapter goes
SERVICE_OUTPUT_METRICS   where {"num_samples": ..., "loss": ...} goes
"""

import json
import os
import sys

import torch
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

RANK, ALPHA = 2, 16
MODULES = ["v_proj", "o_proj", "down_proj"]


def open_base(path):
    """The model of a GGUF file, or of a folder of the Hugging Face hub, with an adapter that changes nothing yet."""
    folder, file = os.path.split(path)
    place = {"pretrained_model_name_or_path": folder or ".", "gguf_file": file} if path.endswith(".gguf") else {"pretrained_model_name_or_path": path}
    tokenizer = AutoTokenizer.from_pretrained(**place)
    torch.manual_seed(0)  # every device must begin with the same adapter
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(**place, dtype=torch.float32),
                           LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=MODULES, task_type="CAUSAL_LM"))
    return tokenizer, model


def adapter_of(model):
    return {name: value.to(torch.float16).contiguous() for name, value in get_peft_model_state_dict(model).items()}


def examples_of(tokenizer, path):
    """Token ids of each chat, and labels of the reply alone."""
    with open(path) as file:
        for line in filter(str.strip, file):
            chat = json.loads(line)
            start = f"<|im_start|>user\n{chat['input']}<|im_end|>\n<|im_start|>assistant\n"
            prompt, reply = (tokenizer(text, add_special_tokens=False).input_ids for text in (start, f"{chat['expected_output']}<|im_end|>"))
            yield torch.tensor([prompt + reply]), torch.tensor([[-100] * len(prompt) + reply])


def train(tokenizer, model, path, settings):
    chats = list(examples_of(tokenizer, path))
    optimizer = torch.optim.AdamW([value for value in model.parameters() if value.requires_grad], lr=settings.get("learning_rate", 0.005))
    for _ in range(settings.get("local_epochs", 5)):
        for ids, labels in chats:
            optimizer.zero_grad()
            loss = model(input_ids=ids, labels=labels).loss
            loss.backward()
            optimizer.step()
    return {"num_samples": len(chats), "loss": loss.item()}


def main(base, chats):
    with open(os.environ["SERVICE_PLAN"]) as file:
        settings = json.load(file)["hyperparameters"]
    tokenizer, model = open_base(base)
    start = os.environ.get("SERVICE_GLOBAL_WEIGHTS")
    if start:
        set_peft_model_state_dict(model, {name: value.float() for name, value in load_file(start).items()})
    metrics = train(tokenizer, model, chats, settings)
    save_file(adapter_of(model), os.environ["SERVICE_OUTPUT_WEIGHTS"])
    with open(os.environ["SERVICE_OUTPUT_METRICS"], "w") as file:
        json.dump(metrics, file)
    print(f"trained on {metrics['num_samples']} chats, loss {metrics['loss']:.3f}")


if __name__ == "__main__":
    if sys.argv[1] == "--init":
        save_file(adapter_of(open_base(sys.argv[3])[1]), sys.argv[2])
    else:
        main(sys.argv[1], sys.argv[2])
