// Finds the tables that a source file names in SQL templates and in calls of the query builder.
import ts from 'typescript'

export interface Access {
  readonly table: string
  readonly writes: boolean
}

/** Stands for a computed table name. */
export const COMPUTED = '?'

const PLACEHOLDER = '$'
/** Tokens that may stand between the verb and the name. */
const BEFORE_NAME = new Set(['only', 'if', 'not', 'exists', 'table', 'public', '.', '('])
const ENDS_FROM = new Set(
  'where on join left right inner full cross natural group having order limit offset fetch for returning union except intersect set window values when select'.split(
    ' ',
  ),
)

/** Splits SQL into tokens: unquotes names, and removes comments and string contents. Everything else is single characters. */
export const tokensOf = (text: string): readonly string[] =>
  [
    ...text
      .replace(/--[^\n]*|\/\*[\s\S]*?\*\//g, ' ')
      .replace(/'(?:[^']|'')*'/g, " '' ")
      .matchAll(/"([^"]+)"|[a-z_][a-z0-9_]*|\S/gi),
  ].map(([token, quoted]) => (quoted ?? token).toLowerCase())

const nameAfter = (tokens: readonly string[], position: number): string | undefined => {
  let at = position
  while (BEFORE_NAME.has(tokens[at]!)) at++
  return tokens[at]
}

/** Returns the names in the list after `from` or `using`, including joins in parentheses, but not calls and subqueries. */
const namesInList = (tokens: readonly string[], position: number): readonly string[] => {
  const names: string[] = []
  let depth = 0
  let isStart = true
  for (let at = position; at < tokens.length && depth >= 0; at++) {
    const token = tokens[at]!
    if (isStart && !['(', 'only', 'lateral', 'public', '.'].includes(token)) {
      names.push(token)
      isStart = false
    }
    if (token === '(') depth++
    else if (token === ')') depth--
    else if (depth === 0 && ENDS_FROM.has(token)) return names
    else if (depth === 0 && token === ',') isStart = true
  }
  return names
}

/** Finds the tables in one SQL text, in which `$` stands for substitutions. */
const accessesInSql = (text: string): readonly Access[] => {
  const tokens = tokensOf(text)
  const found: Access[] = []
  const add = (table: string | undefined, writes: boolean): void => {
    if (table !== undefined) found.push({ table: table === PLACEHOLDER ? COMPUTED : table, writes })
  }
  // A fragment that is inserted after a `from` or `join`: sql`rounds r`.
  const isPiece = tokens[1] === undefined || tokens[1] === ',' || /^[a-z_]/.test(tokens[1])
  if (isPiece && tokens[0] !== PLACEHOLDER) add(tokens[0], false)
  for (const [position, token] of tokens.entries()) {
    const previous = tokens[position - 1]
    const after = position + 1
    if (token === 'into' || token === 'truncate' || token === 'table') add(nameAfter(tokens, after), true)
    else if (token === 'update' && !['do', 'for', 'key', 'on'].includes(previous ?? '')) {
      add(nameAfter(tokens, after), true)
    } else if (token === 'from' && previous === 'delete') add(nameAfter(tokens, after), true)
    else if ((token === 'from' && previous !== 'distinct') || token === 'using') {
      for (const name of namesInList(tokens, after)) if (name !== PLACEHOLDER) add(name, false)
    } else if (token === 'join') add(namesInList(tokens, after)[0]?.replace(PLACEHOLDER, ''), false)
  }
  return found
}

const READS = new Set(
  'selectFrom innerJoin leftJoin rightJoin fullJoin crossJoin innerJoinLateral leftJoinLateral crossJoinLateral from using'.split(
    ' ',
  ),
)
const WRITES = new Set(
  'insertInto updateTable deleteFrom replaceInto mergeInto alterTable dropTable createTable truncateTable'.split(' '),
)
/** Methods that other objects have, too. */
const COMMON_WORDS = new Set(['from', 'using'])

export const textOf = (node: ts.TemplateLiteral | ts.StringLiteral): string =>
  ts.isTemplateExpression(node)
    ? node.head.text + node.templateSpans.map((span) => ` ${PLACEHOLDER} ${span.literal.text}`).join('')
    : node.text

const isText = (node: ts.Node): node is ts.StringLiteral | ts.NoSubstitutionTemplateLiteral =>
  ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)

/** Returns the tables in a query builder argument: 'rounds', 'public.rounds as r', or a list of them. */
const namedBy = (argument: ts.Expression): readonly string[] => {
  if (ts.isAsExpression(argument) || ts.isParenthesizedExpression(argument)) return namedBy(argument.expression)
  if (isText(argument))
    return [
      argument.text
        .trim()
        .split(/\s/)[0]!
        .replace(/^public\./, ''),
    ]
  if (ts.isArrayLiteralExpression(argument)) return argument.elements.flatMap(namedBy)
  // The tables in subqueries are found separately.
  if (ts.isArrowFunction(argument) || ts.isCallExpression(argument) || ts.isTaggedTemplateExpression(argument))
    return []
  return [COMPUTED]
}

const accessesInCall = (node: ts.CallExpression): readonly Access[] => {
  const argument = node.arguments[0]
  if (!ts.isPropertyAccessExpression(node.expression) || argument === undefined) return []
  const { name, expression: object } = node.expression
  const method = name.text
  if (method === 'raw') return isText(argument) ? accessesInSql(textOf(argument)) : [{ table: COMPUTED, writes: true }]
  if (object.getText() === 'sql' && ['table', 'id', 'ref'].includes(method)) {
    const names = namedBy(argument).filter((one) => one !== COMPUTED || method === 'table')
    return names.map((table) => ({ table, writes: false }))
  }
  if (!READS.has(method) && !WRITES.has(method)) return []
  return namedBy(argument)
    .filter((table) => table !== COMPUTED || !COMMON_WORDS.has(method))
    .map((table) => ({ table, writes: WRITES.has(method) }))
}

export const isSqlTemplate = (node: ts.Node): node is ts.TaggedTemplateExpression =>
  ts.isTaggedTemplateExpression(node) && node.tag.getText() === 'sql'

/** Returns which of `tables` the file names, each once as read and once as written, or `COMPUTED` if the name is computed. */
export const accessesIn = (path: string, text: string, tables: readonly string[]): readonly Access[] => {
  const found = new Map<string, Access>()
  const visit = (node: ts.Node): void => {
    const here = isSqlTemplate(node)
      ? accessesInSql(textOf(node.template))
      : ts.isCallExpression(node)
        ? accessesInCall(node)
        : []
    for (const access of here) {
      if (access.table === COMPUTED || tables.includes(access.table)) {
        found.set(`${access.table} ${access.writes}`, access)
      }
    }
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true))
  return [...found.values()]
}
