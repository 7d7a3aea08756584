import type { Grammar, GrammarNode } from './grammar.ts'

/** llama.cpp refuses more (llama-grammar.cpp, MAX_REPETITION_THRESHOLD), and unrolls each repetition. */
export const MAX_REPETITIONS = 2000

/** Writes the grammar in llama.cpp's notation with the same rule names. */
export const toGbnf = ({ root, rules }: Grammar): string => {
  const hoisted: string[] = []
  const hoist = (node: GrammarNode): string => {
    const name = `part-${hoisted.length}`
    hoisted.push(name)
    const at = hoisted.length - 1
    hoisted[at] = `${name} ::= ${write(node)}`
    return name
  }
  const write = (node: GrammarNode, inner = false): string => {
    switch (node.kind) {
      case 'text':
        return `"${[...node.text].map(written).join('')}"`
      case 'characters':
        return `[${node.ranges.map(([first, last]) => (first === last ? code(first) : `${code(first)}-${code(last)}`)).join('')}]`
      case 'sequence':
        return node.parts.length === 0 ? '""' : node.parts.map((part) => write(part, true)).join(' ')
      case 'choice': {
        const options = node.options.map((option) => write(option)).join(' | ')
        return inner ? `(${options})` : options
      }
      case 'repeat': {
        // A named rule, because all parts of an expression in brackets count against the limit.
        const part = node.part.kind === 'characters' || node.part.kind === 'rule' ? write(node.part) : hoist(node.part)
        return `${part}{${node.min},${node.max ?? ''}}`
      }
      case 'rule':
        return node.name
      case 'reluctant':
        return write(node.part, inner)
    }
  }
  const lines = [`root ::= ${write(root)}`]
  for (const [name, node] of rules) lines.push(`${name} ::= ${write(node)}`)
  return `${[...lines, ...hoisted].join('\n')}\n`
}

const written = (character: string): string =>
  /^[ !#-[\]-~]$/.test(character) ? character : code(character.codePointAt(0)!)

const code = (point: number): string => {
  const character = String.fromCodePoint(point)
  return /^[0-9A-Za-z]$/.test(character) ? character : hexadecimal(point)
}

const hexadecimal = (point: number): string => `\\U${point.toString(16).toUpperCase().padStart(8, '0')}`
