import type { Grammar, GrammarNode } from './grammar.ts'

/** A place in a grammar: inside `node`, behind `done` of its characters, parts or repetitions; then `rest`. */
interface Place {
  readonly id: number
  readonly node: GrammarNode
  readonly done: number
  readonly rest: Place | null
}

interface Ending {
  readonly cost: number
  readonly text: string
}

const NOTHING: Ending = { cost: 0, text: '' }
const NEVER: Ending = { cost: Number.POSITIVE_INFINITY, text: '' }

/**
 * Returns a function that finds the shortest ending of a beginning: the text that completes it to one of the grammar, or null
 * where it is no beginning of one. All readings of the beginning are followed at once, so ambiguous grammars are fine.
 */
export const compileEndings = (grammar: Grammar): ((beginning: string) => string | null) => {
  const shortest = shortestTexts(grammar)
  return (beginning) => {
    const places = new Places(grammar)
    let readings: ReadonlySet<Place | null> = places.open(null, grammar.root)
    for (const character of beginning) {
      readings = places.advance(readings, character)
      if (readings.size === 0) return null
    }
    const endings = [...readings].map((place) => endingOf(place, shortest))
    const best = endings.reduce((one, other) => (other.cost < one.cost ? other : one), NEVER)
    return best === NEVER ? null : best.text
  }
}

/** Whether the grammar has any text at all: a schema that needs itself has none. */
export const canEnd = (grammar: Grammar): boolean => shortestTexts(grammar)(grammar.root).cost < NEVER.cost

/** The places of one walk. Equal places are the same object, so that sets of them stay small. */
class Places {
  readonly #rules: ReadonlyMap<string, GrammarNode>
  readonly #nodeIds = new Map<GrammarNode, number>()
  readonly #places = new Map<string, Place>()

  constructor({ rules }: Grammar) {
    this.#rules = rules
  }

  open(rest: Place | null, node: GrammarNode): Set<Place | null> {
    const found = new Set<Place | null>()
    this.#expand(this.#place(node, 0, rest), found)
    return found
  }

  advance(readings: ReadonlySet<Place | null>, character: string): Set<Place | null> {
    const found = new Set<Place | null>()
    const point = character.codePointAt(0)!
    for (const place of readings) {
      if (place === null) continue
      const { node, done, rest } = place
      if (node.kind === 'text' && node.text.startsWith(character, done))
        this.#expand(this.#place(node, done + character.length, rest), found)
      if (node.kind === 'characters' && node.ranges.some(([first, last]) => point >= first && point <= last))
        this.#expand(rest, found)
    }
    return found
  }

  /** Adds to `found` the places that wait for a character, and null where everything is complete. */
  #expand(place: Place | null, found: Set<Place | null>): void {
    if (place === null) {
      found.add(null)
      return
    }
    const { node, done, rest } = place
    switch (node.kind) {
      case 'text':
        if (done < node.text.length) found.add(place)
        else this.#expand(rest, found)
        return
      case 'characters':
        found.add(place)
        return
      case 'sequence': {
        const part = node.parts[done]
        if (part === undefined) this.#expand(rest, found)
        else this.#expand(this.#place(part, 0, this.#place(node, done + 1, rest)), found)
        return
      }
      case 'choice':
        for (const option of node.options) this.#expand(this.#place(option, 0, rest), found)
        return
      case 'repeat':
        if (node.max === null || done < node.max) {
          const next = node.max === null ? Math.min(done + 1, node.min) : done + 1
          this.#expand(this.#place(node.part, 0, this.#place(node, next, rest)), found)
        }
        if (done >= node.min) this.#expand(rest, found)
        return
      case 'rule':
        this.#expand(this.#place(this.#rules.get(node.name)!, 0, rest), found)
        return
      case 'reluctant':
        // Stays below its part, so that an ending that has not left the part yet pays for it.
        this.#expand(done === 0 ? this.#place(node.part, 0, this.#place(node, 1, rest)) : rest, found)
    }
  }

  #place(node: GrammarNode, done: number, rest: Place | null): Place | null {
    // A sequence that is through is what follows it: readings that differ only in that are the same.
    if (node.kind === 'sequence' && done === node.parts.length) return rest
    let nodeId = this.#nodeIds.get(node)
    if (nodeId === undefined) this.#nodeIds.set(node, (nodeId = this.#nodeIds.size))
    const key = `${nodeId}/${done}/${rest?.id ?? ''}`
    let place = this.#places.get(key)
    if (place === undefined) this.#places.set(key, (place = { id: this.#places.size, node, done, rest }))
    return place
  }
}

const endingOf = (place: Place | null, shortest: (node: GrammarNode) => Ending): Ending => {
  let ending = NOTHING
  for (let at = place; at !== null; at = at.rest) {
    const { node, done } = at
    if (node.kind === 'text') ending = joined(ending, textEnding(node.text.slice(done)))
    else if (node.kind === 'sequence')
      for (const part of node.parts.slice(done)) ending = joined(ending, shortest(part))
    else if (node.kind === 'repeat') ending = joined(ending, times(shortest(node.part), node.min - done))
    else if (node.kind === 'reluctant') ending = { ...ending, cost: ending.cost + node.by }
    else ending = joined(ending, shortest(node))
  }
  return ending
}

/** The shortest text of each node: rules refer to one another, so theirs are improved until nothing changes. */
const shortestTexts = ({ rules }: Grammar): ((node: GrammarNode) => Ending) => {
  const ofRules = new Map<string, Ending>()
  const shortest = (node: GrammarNode): Ending => {
    switch (node.kind) {
      case 'text':
        return textEnding(node.text)
      case 'characters':
        return { cost: 1, text: String.fromCodePoint(node.ranges[0]![0]) }
      case 'sequence':
        return node.parts.reduce((ending, part) => joined(ending, shortest(part)), NOTHING)
      case 'choice':
        return node.options.map(shortest).reduce((one, other) => (other.cost < one.cost ? other : one), NEVER)
      case 'repeat':
        return times(shortest(node.part), node.min)
      case 'rule':
        return ofRules.get(node.name) ?? NEVER
      case 'reluctant': {
        const { cost, text } = shortest(node.part)
        return { cost: cost + node.by, text }
      }
    }
  }
  const backwards = [...rules].reverse()
  for (let changed = true; changed; ) {
    changed = false
    for (const [name, node] of backwards) {
      const ending = shortest(node)
      if (ending.cost >= (ofRules.get(name) ?? NEVER).cost) continue
      ofRules.set(name, ending)
      changed = true
    }
  }
  return shortest
}

const textEnding = (text: string): Ending => ({ cost: text.length, text })

const joined = (one: Ending, other: Ending): Ending => ({ cost: one.cost + other.cost, text: one.text + other.text })

const times = (ending: Ending, count: number): Ending =>
  count <= 0 ? NOTHING : { cost: ending.cost * count, text: ending.text.repeat(count) }
