/**
 * A context-free grammar over characters, as data: written out as GBNF it holds the model to a format (gbnf.ts), and walked
 * along what the model has written it says how to end it (walk.ts). One value for both, so that they cannot disagree.
 */
export type GrammarNode =
  | { readonly kind: 'text'; readonly text: string }
  /** One character: first and last code points of ranges. */
  | { readonly kind: 'characters'; readonly ranges: readonly (readonly [number, number])[] }
  | { readonly kind: 'sequence'; readonly parts: readonly GrammarNode[] }
  | { readonly kind: 'choice'; readonly options: readonly GrammarNode[] }
  /** `part` never matches nothing. `max` null: without end. */
  | { readonly kind: 'repeat'; readonly part: GrammarNode; readonly min: number; readonly max: number | null }
  | { readonly kind: 'rule'; readonly name: string }
  /** As `part`, but an ending takes it only where everything else is longer by that many characters. */
  | { readonly kind: 'reluctant'; readonly part: GrammarNode; readonly by: number }

export interface Grammar {
  readonly root: GrammarNode
  readonly rules: ReadonlyMap<string, GrammarNode>
}

/** A grammar whose rules are asked for one by one. */
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

/** `ranges` as pairs of characters: '09' 'af'. */
export const characters = (...ranges: readonly string[]): GrammarNode => ({
  kind: 'characters',
  ranges: ranges.map((range) => {
    const [first, last = first] = [...range]
    return [first!.codePointAt(0)!, last!.codePointAt(0)!]
  }),
})

/** A line for the root, then one for each rule: its name, what its shortest text costs, and its node. */
export const writeGrammar = ({ root, rules }: Grammar, costs: ReadonlyMap<string, number>): string =>
  [
    JSON.stringify(root),
    ...[...rules].map(([name, node]) => `${name}\t${costs.get(name) ?? ''}\t${JSON.stringify(node)}`),
  ].join('\n')

/** Reads a rule when it is first asked for: an answer meets few of them. */
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
