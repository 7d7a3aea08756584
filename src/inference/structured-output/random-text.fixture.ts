import type { Grammar, GrammarNode } from './grammar.ts'

/** Generates a random text of the grammar; beyond `depth`, it prefers alternatives that do not nest. */
export const randomText = ({ root, rules }: Grammar, random: (below: number) => number, depth = 24): string => {
  const write = (node: GrammarNode, left: number): string => {
    switch (node.kind) {
      case 'text':
        return node.text
      case 'characters': {
        const [first, last] = node.ranges[random(node.ranges.length)]!
        return String.fromCodePoint(first + random(Math.min(last - first + 1, 500)))
      }
      case 'sequence':
        return node.parts.map((part) => write(part, left)).join('')
      case 'choice': {
        const plain = node.options.filter(({ kind }) => kind === 'text')
        const options = left > 0 || plain.length === 0 ? node.options : plain
        return write(options[random(options.length)]!, left)
      }
      case 'repeat': {
        const most = Math.min(node.max ?? Number.POSITIVE_INFINITY, node.min + (left > 0 ? 3 : 0))
        const count = node.min + random(most - node.min + 1)
        return Array.from({ length: count }, () => write(node.part, left - 1)).join('')
      }
      case 'rule':
        return write(rules.get(node.name)!, left - 1)
      case 'reluctant':
        return write(node.part, left)
    }
  }
  return write(root, depth)
}
