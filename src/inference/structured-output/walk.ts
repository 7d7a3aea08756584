import type { GrammarNode, ReadGrammar } from './grammar.ts'
import { type Costs, costOf, shortestText, times } from './shortest.ts'

/** A position in a grammar: inside `node`, after `done` of its characters, parts, or repetitions; then `rest`. */
export interface Place {
  readonly id: number
  readonly node: GrammarNode
  readonly done: number
  readonly rest: Place | null
  /** The cost of the shortest ending from here. */
  readonly cost: number
}

/** All positions that a text may have reached, one per reading; null if it may be complete. */
export type Readings = ReadonlySet<Place | null>

const costAt = (place: Place | null): number => place?.cost ?? 0

/** Returns the cost of the shortest ending; Infinity if no text of the grammar starts like this. */
export const endingCost = (readings: Readings): number =>
  [...readings].reduce((least, place) => Math.min(least, costAt(place)), Number.POSITIVE_INFINITY)

/**
 * Follows one text through a grammar. It follows all readings at once, so ambiguous grammars are allowed. Equal positions are
 * the same object, which keeps sets of them small.
 */
export class Walk {
  readonly start: Readings
  readonly #rules: ReadGrammar['rules']
  readonly #costs: Costs
  readonly #nodeIds = new Map<GrammarNode, number>()
  readonly #places = new Map<string, Place>()
  readonly #costsFrom = new Map<GrammarNode, Float64Array>()

  constructor({ root, rules }: ReadGrammar, costs: Costs) {
    this.#rules = rules
    this.#costs = costs
    const found = new Set<Place | null>()
    this.#expand(this.#place(root, 0, null), found)
    this.start = found
  }

  /** Empty if no text of the grammar continues like this. */
  after(readings: Readings, text: string): Readings {
    let now = readings
    for (const character of text) now = this.#advance(now, character)
    return now
  }

  /** Returns the shortest text that completes what was read. */
  ending(readings: Readings): string {
    const least = endingCost(readings)
    const pieces: string[] = []
    for (let at = [...readings].find((place) => costAt(place) === least) ?? null; at !== null; at = at.rest) {
      const { node, done } = at
      const add = (part: GrammarNode): void => void pieces.push(shortestText(part, this.#rules, this.#costs))
      if (node.kind === 'text') pieces.push(node.text.slice(done))
      else if (node.kind === 'sequence') node.parts.slice(done).forEach(add)
      else if (node.kind === 'repeat') add({ ...node, min: Math.max(0, node.min - done) })
      else if (node.kind !== 'reluctant') add(node)
    }
    return pieces.join('')
  }

  #costFrom(node: GrammarNode, done: number): number {
    switch (node.kind) {
      case 'text':
        return node.text.length - done
      case 'sequence':
        return this.#partCosts(node)[done]!
      case 'repeat':
        return times(costOf(node.part, this.#costs), node.min - done)
      case 'reluctant':
        return node.by + (done === 0 ? costOf(node.part, this.#costs) : 0)
      default:
        return costOf(node, this.#costs)
    }
  }

  /** Returns the cost of a sequence's parts from each of them to the last. */
  #partCosts(node: GrammarNode & { readonly kind: 'sequence' }): Float64Array {
    const known = this.#costsFrom.get(node)
    if (known !== undefined) return known
    const costs = new Float64Array(node.parts.length + 1)
    for (let i = node.parts.length - 1; i >= 0; i--) costs[i] = costs[i + 1]! + costOf(node.parts[i]!, this.#costs)
    this.#costsFrom.set(node, costs)
    return costs
  }

  #advance(readings: Readings, character: string): Readings {
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

  /** Adds the positions that expect a character to `found`, and null if everything is complete. */
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
        // Stays below its part, so that an ending inside the part still includes its cost.
        this.#expand(done === 0 ? this.#place(node.part, 0, this.#place(node, 1, rest)) : rest, found)
    }
  }

  #place(node: GrammarNode, done: number, rest: Place | null): Place | null {
    // A finished sequence is replaced by what follows it, so that readings that differ only in that are equal.
    if (node.kind === 'sequence' && done === node.parts.length) return rest
    let nodeId = this.#nodeIds.get(node)
    if (nodeId === undefined) this.#nodeIds.set(node, (nodeId = this.#nodeIds.size))
    const key = `${nodeId}/${done}/${rest?.id ?? ''}`
    let place = this.#places.get(key)
    if (place === undefined) {
      const cost = this.#costFrom(node, done) + (rest?.cost ?? 0)
      this.#places.set(key, (place = { id: this.#places.size, node, done, rest, cost }))
    }
    return place
  }
}
