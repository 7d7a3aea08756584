// Finds SQL conditions with an `or` outside parentheses. The query builder joins conditions with `and` without adding
// parentheses, so such an `or` would make all earlier conditions optional.
import ts from 'typescript'
import { isSqlTemplate, textOf, tokensOf } from './table-names.ts'

/** Words that start a statement or a clause, or continue a condition. */
const NO_CONDITION = new Set('select with insert update delete where or case create merge on'.split(' '))

const hasLooseOr = (tokens: readonly string[]): boolean => {
  let depth = 0
  for (const token of tokens) {
    if (token === '(') depth++
    else if (token === ')') depth--
    else if (token === 'or' && depth === 0) return true
  }
  return false
}

/** Returns the conditions in the file, as they are written. */
export const looseConditionsIn = (path: string, text: string): readonly string[] => {
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (isSqlTemplate(node)) {
      const tokens = tokensOf(textOf(node.template))
      if (!NO_CONDITION.has(tokens[0]!) && hasLooseOr(tokens)) found.push(node.template.getText())
    }
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true))
  return found
}
