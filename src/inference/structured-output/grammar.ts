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
export const rule = (name: string): GrammarNode => ({ kind: 'rule', name })
export const reluctant = (part: GrammarNode, by: number): GrammarNode => ({ kind: 'reluctant', part, by })

/** `ranges` as pairs of characters: '09' 'af'. */
export const characters = (...ranges: readonly string[]): GrammarNode => ({
  kind: 'characters',
  ranges: ranges.map((range) => {
    const [first, last = first] = [...range]
    return [first!.codePointAt(0)!, last!.codePointAt(0)!]
  }),
})
