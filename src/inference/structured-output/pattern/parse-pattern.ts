import { createRequire } from 'node:module'
import type { CharSet, Concatenation, Element, NoParent } from 'refa'

/** A tenth of a second to load, so only for a schema that has a pattern; Node keeps it from then on. */
export const library = () => createRequire(import.meta.url)('refa') as typeof import('refa')

/** Says why a pattern cannot be kept, as the end of a sentence about it. */
export class PatternFault extends Error {}

const MAX_PARTS = 1000

/**
 * Where a string begins and ends, as characters (of those that no text has): so `^` and `$` are characters, and a pattern
 * that is searched for is one that anything may stand around.
 */
export const BEGINNING = 0xfffe
export const END = 0xffff

export type Alternatives = readonly NoParent<Concatenation>[]

/** The pattern's parts. Throws PatternFault. */
export const parsed = (pattern: string): { readonly alternatives: Alternatives; readonly maxCharacter: number } => {
  // As JSON Schema asks, and else as many write them: with escapes that Unicode mode does not know.
  const flags = ['u', ''].find((flags) => isExpression(pattern, flags)) ?? 'u'
  try {
    const parser = library().JS.Parser.fromLiteral({ source: pattern, flags })
    const { expression, maxCharacter } = parser.parse({ backreferences: 'unknown', maxNodes: MAX_PARTS })
    return { alternatives: expression.alternatives, maxCharacter }
  } catch (error) {
    if (error instanceof library().TooManyNodesError) throw error
    throw new PatternFault(`is not a regular expression: ${(error as Error).message}.`)
  }
}

const isExpression = (pattern: string, flags: string): boolean => {
  try {
    return new RegExp(pattern, flags) instanceof RegExp
  } catch {
    return false
  }
}

/** ^ or $: nothing behind, or nothing ahead. */
const isEdge = (element: NoParent<Element>): boolean => {
  if (element.type !== 'Assertion' || !element.negate || element.alternatives.length !== 1) return false
  const [only, ...others] = element.alternatives[0]!.elements
  return others.length === 0 && only?.type === 'CharacterClass' && only.characters.isAll
}

/** The pattern with ^ and $ as marks, and no class that holds a mark. */
export const withMarks = (
  parts: Alternatives,
  any: CharSet,
  mark: (character: number) => NoParent<Element>,
): NoParent<Concatenation>[] => {
  const texts = any.without({ min: BEGINNING, max: END })
  const marked = (element: NoParent<Element>): NoParent<Element> => {
    if (element.type === 'CharacterClass') return classOf(element.characters.intersect(texts))
    if (element.type === 'Unknown') throw new PatternFault(`refers back with '${element.id}', which no grammar can.`)
    if (element.type !== 'Assertion') return { ...element, alternatives: withMarks(element.alternatives, any, mark) }
    if (isEdge(element)) return mark(element.kind === 'behind' ? BEGINNING : END)
    throw new PatternFault(
      'looks ahead or behind (or has a \\b), which is not supported. Say it without, or check the answer yourself.',
    )
  }
  return parts.map(({ elements }) => concatenation(elements.map(marked)))
}

/** Every class of the pattern. */
export const classesIn = (parts: readonly NoParent<Concatenation>[]): CharSet[] =>
  parts.flatMap(({ elements }) =>
    elements.flatMap((element) => {
      if (element.type === 'CharacterClass') return [element.characters]
      return 'alternatives' in element ? classesIn(element.alternatives) : []
    }),
  )

export const withClasses = (
  parts: readonly NoParent<Concatenation>[],
  replace: (characters: CharSet) => CharSet,
): NoParent<Concatenation>[] =>
  parts.map(({ elements }) =>
    concatenation(
      elements.map((element) => {
        if (element.type === 'CharacterClass') return classOf(replace(element.characters))
        return 'alternatives' in element
          ? { ...element, alternatives: withClasses(element.alternatives, replace) }
          : element
      }),
    ),
  )

export const concatenation = (elements: readonly NoParent<Element>[]): NoParent<Concatenation> => ({
  type: 'Concatenation',
  elements: [...elements],
})

export const classOf = (characters: CharSet): NoParent<Element> => ({ type: 'CharacterClass', characters })

export const repeated = (element: NoParent<Element>, min: number, max: number | null): NoParent<Element> => ({
  type: 'Quantifier',
  min,
  max: max ?? Number.POSITIVE_INFINITY,
  lazy: false,
  alternatives: [concatenation([element])],
})
