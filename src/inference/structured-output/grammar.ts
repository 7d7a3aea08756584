/**
 * A context-free grammar over characters, as data. As GBNF it constrains the model (gbnf.ts), and following the model's output
 * it shows how to complete it (walk.ts). Both use the same value, so they cannot disagree.
 */
export type GrammarNode =
  | { readonly kind: 'text'; readonly text: string }
  /** One character, from ranges of first and last code points. */
  | { readonly kind: 'characters'; readonly ranges: readonly (readonly [number, number])[] }
  | { readonly kind: 'sequence'; readonly parts: readonly GrammarNode[] }
  | { readonly kind: 'choice'; readonly options: readonly GrammarNode[] }
  /** `part` never matches the empty text. `max` null means unlimited. */
  | { readonly kind: 'repeat'; readonly part: GrammarNode; readonly min: number; readonly max: number | null }
  | { readonly kind: 'rule'; readonly name: string }
  /** Like `part`, but an ending uses it only if every alternative is longer by this many characters. */
  | { readonly kind: 'reluctant'; readonly part: GrammarNode; readonly by: number }

export interface Grammar {
  readonly root: GrammarNode
  readonly rules: ReadonlyMap<string, GrammarNode>
}

/** A grammar that reads its rules on demand. */
export interface ReadGrammar {
  readonly root: GrammarNode
  readonly rules: Pick<Grammar['rules'], 'get'>
}

export const text = (value: string): GrammarNode => ({ kind: 'text', text: value })
export const sequence = (...parts: readonly GrammarNode[]): GrammarNode => ({ kind: 'sequence', parts })
export const choice = (...options: readonly GrammarNode[]): GrammarNode =>
  options.length === 1 ? options[0]! : { kind: 'choice', options }
export const optional = (part: GrammarNode): GrammarNode => choice(text(''), part)
export const repeat = (part: GrammarNode, min: number, max: number | null): GrammarNode => ({
  kind: 'repeat',
  part,
  min,
  max,
})
export const rule = (name: string) => ({ kind: 'rule', name }) as const satisfies GrammarNode
export const reluctant = (part: GrammarNode, by: number): GrammarNode => ({ kind: 'reluctant', part, by })

/** `ranges` are pairs of characters: '09' 'af'. */
export const characters = (...ranges: readonly string[]): GrammarNode => ({
  kind: 'characters',
  ranges: ranges.map((range) => {
    const [first, last = first] = [...range]
    return [first!.codePointAt(0)!, last!.codePointAt(0)!]
  }),
})

/** Writes a line for the root, then one per rule: its name, the cost of its shortest text, and its node. */
export const writeGrammar = ({ root, rules }: Grammar, costs: ReadonlyMap<string, number>): string =>
  [
    JSON.stringify(root),
    ...[...rules].map(([name, node]) => `${name}\t${costs.get(name) ?? ''}\t${JSON.stringify(node)}`),
  ].join('\n')

/** Parses each rule on first use, because an answer needs only a few. */
export const readGrammar = (
  written: string,
): { readonly grammar: ReadGrammar; readonly costs: ReadonlyMap<string, number> } => {
  const [first, ...lines] = written.split('\n')
  const costs = new Map<string, number>()
  const waiting = new Map<string, string>()
  for (const line of lines) {
    const [name, cost, node] = line.split('\t', 3) as [string, string, string]
    if (cost !== '') costs.set(name, Number(cost))
    waiting.set(name, node)
  }
  const known = new Map<string, GrammarNode>()
  const get = (name: string): GrammarNode | undefined => {
    const json = waiting.get(name)
    if (known.has(name) || json === undefined) return known.get(name)
    const node: GrammarNode = JSON.parse(json)
    known.set(name, node)
    return node
  }
  return { grammar: { root: JSON.parse(first!), rules: { get } }, costs }
}
