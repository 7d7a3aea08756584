import type { GrammarNode, ReadGrammar } from './grammar.ts'

/**
 * The cost of a node's shortest text: its characters, plus what 'reluctant' adds. Infinity for a node that needs itself and
 * therefore has no text.
 */
export type Costs = ReadonlyMap<string, number>

/** Returns the cost of each rule. It terminates: costs only fall, and a rule is updated only after one that it uses fell. */
export const shortestCosts = (rules: ReadonlyMap<string, GrammarNode>): Costs => {
  const costs = new Map<string, number>()
  const users = new Map<string, string[]>()
  for (const [name, node] of rules)
    for (const used of rulesIn(node)) {
      const list = users.get(used)
      if (list === undefined) users.set(used, [name])
      else list.push(name)
    }
  const waiting = new Set(rules.keys())
  for (const name of waiting) {
    waiting.delete(name)
    const cost = costOf(rules.get(name)!, costs)
    if (cost >= (costs.get(name) ?? Number.POSITIVE_INFINITY)) continue
    costs.set(name, cost)
    // Iterating over a Set includes items added during the iteration.
    for (const user of users.get(name) ?? []) waiting.add(user)
  }
  return costs
}

const rulesIn = (node: GrammarNode, found = new Set<string>()): Set<string> => {
  if (node.kind === 'rule') found.add(node.name)
  else if (node.kind === 'sequence') for (const part of node.parts) rulesIn(part, found)
  else if (node.kind === 'choice') for (const option of node.options) rulesIn(option, found)
  else if (node.kind === 'repeat' || node.kind === 'reluctant') rulesIn(node.part, found)
  return found
}

export const costOf = (node: GrammarNode, costs: Costs): number => {
  switch (node.kind) {
    case 'text':
      return node.text.length
    case 'characters':
      return 1
    case 'sequence':
      return node.parts.reduce((sum, part) => sum + costOf(part, costs), 0)
    case 'choice':
      return node.options.reduce((least, option) => Math.min(least, costOf(option, costs)), Number.POSITIVE_INFINITY)
    case 'repeat':
      return times(costOf(node.part, costs), node.min)
    case 'rule':
      return costs.get(node.name) ?? Number.POSITIVE_INFINITY
    case 'reluctant':
      return costOf(node.part, costs) + node.by
  }
}

export const times = (cost: number, count: number): number => (count <= 0 ? 0 : cost * count)

/** Returns a node's shortest text, without recursion because rules can be nested thousands deep. Its cost must be small. */
export const shortestText = (node: GrammarNode, rules: ReadGrammar['rules'], costs: Costs): string => {
  const pieces: string[] = []
  const waiting = [node]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (next.kind === 'text') pieces.push(next.text)
    else if (next.kind === 'characters') pieces.push(String.fromCodePoint(next.ranges[0]![0]))
    else if (next.kind === 'sequence') waiting.push(...[...next.parts].reverse())
    else if (next.kind === 'repeat') for (let i = 0; i < next.min; i++) waiting.push(next.part)
    else if (next.kind === 'rule') waiting.push(rules.get(next.name)!)
    else if (next.kind === 'reluctant') waiting.push(next.part)
    else {
      const least = costOf(next, costs)
      waiting.push(next.options.find((option) => costOf(option, costs) === least)!)
    }
  }
  return pieces.join('')
}
