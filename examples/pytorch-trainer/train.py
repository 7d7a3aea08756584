"""Takes part in federated rounds with PyTorch: `svc agent --trainer "python train.py data.csv"`.

`python train.py --init model.pt data.csv` writes the weights that training begins with: push them to the catalog first.

The agent runs this once per round. What to do and where to write is in the environment:

SERVICE_GLOBAL_WEIGHTS   the global model's state dict; unset while there is none
SERVICE_PLAN             the round's plan, JSON; its hyperparameters are the ones the round was started with
SERVICE_OUTPUT_WEIGHTS   where the new state dict goes
SERVICE_OUTPUT_METRICS   where {"num_samples": ..., "loss": ..., "accuracy": ...} goes

The last lines that this prints before it fails are shown as the reason why the device failed in the round.
"""

import csv
import json
import os
import sys

import torch
from torch import nn


def read_csv(path):
    """Numbers, the last column a class index; a first line that does not start with a number is a header."""
    with open(path, newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    try:
        float(rows[0][0])
    except ValueError:
        rows = rows[1:]
    values = torch.tensor([[float(cell) for cell in row] for row in rows])
    return values[:, :-1], values[:, -1].long()


def build(features, classes, hidden):
    return nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, classes))


def write_initial(output, path):
    inputs, labels = read_csv(path)
    torch.manual_seed(0)
    torch.save(build(inputs.shape[1], int(labels.max()) + 1, 32).state_dict(), output)


def main(path):
    with open(os.environ["SERVICE_PLAN"]) as file:
        settings = json.load(file)["hyperparameters"]
    inputs, labels = read_csv(path)
    # The same tenth is held out in every round: the model is never evaluated on rows that it was trained on.
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
    held_out, kept = order[: len(order) // 10], order[len(order) // 10 :]

    torch.manual_seed(0)  # without a global model every device must begin with the same weights
    start = os.environ.get("SERVICE_GLOBAL_WEIGHTS")
    weights = torch.load(start, weights_only=True) if start else None
    # The model says how large it is; without one, the hyperparameters do.
    classes = settings.get("classes", 2) if weights is None else len(weights["2.bias"])
    hidden = settings.get("hidden", 32) if weights is None else len(weights["0.bias"])
    model = build(inputs.shape[1], classes, hidden)
    if weights is not None:
        model.load_state_dict(weights)
    torch.seed()  # but each goes through its rows in its own order

    optimizer = torch.optim.SGD(model.parameters(), lr=settings.get("learning_rate", 0.1), momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    batch = settings.get("batch_size", 32)
    for _ in range(settings.get("local_epochs", 5)):
        for rows in kept[torch.randperm(len(kept))].split(batch):
            optimizer.zero_grad()
            criterion(model(inputs[rows]), labels[rows]).backward()
            optimizer.step()

    metrics = {"num_samples": len(kept)}
    if len(held_out) > 0:
        with torch.no_grad():
            scores = model(inputs[held_out])
        metrics["loss"] = criterion(scores, labels[held_out]).item()
        metrics["accuracy"] = (scores.argmax(1) == labels[held_out]).float().mean().item()
    torch.save(model.state_dict(), os.environ["SERVICE_OUTPUT_WEIGHTS"])
    with open(os.environ["SERVICE_OUTPUT_METRICS"], "w") as file:
        json.dump(metrics, file)
    print(f"trained on {len(kept)} rows: {metrics}")


if __name__ == "__main__":
    if sys.argv[1] == "--init":
        write_initial(sys.argv[2], sys.argv[3])
    else:
        main(sys.argv[1])
