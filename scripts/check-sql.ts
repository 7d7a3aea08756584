// Each table has one owner, the control plane module that names it in its module.ts. Only that module's stores may name it.
// Reports (`*.report.ts`) of later modules may read it, and reports may not write. A condition with an `or` must be in
// parentheses. Run by `npm run check`.
import { readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { looseConditionsIn } from './loose-conditions.ts'
import { type Access, accessesIn, COMPUTED } from './table-names.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

export interface SourceFile {
  /** Relative to the project root. */
  readonly path: string
  readonly text: string
}

export interface Owner {
  readonly module: string
  readonly tables: readonly string[]
}

const CHANGED =
  /\b(create|drop)\s+(?:unlogged\s+)?table\s+(?:if\s+(?:not\s+)?exists\s+)?([a-z_]+)|\balter\s+table\s+([a-z_]+)\s+rename\s+to\s+([a-z_]+)/gi

/** Returns the tables that exist after these migrations. */
export const tablesOf = (migrations: readonly string[]): readonly string[] => {
  const tables = new Set<string>()
  for (const [, verb, table, from, to] of migrations.flatMap((text) => [...text.matchAll(CHANGED)])) {
    if (verb?.toLowerCase() === 'create') tables.add(table!)
    else tables.delete(table ?? from!)
    if (to !== undefined) tables.add(to)
  }
  return [...tables]
}

const moduleOf = (path: string): string | null => path.match(/^src\/control\/([^/]+)\//)?.[1] ?? null

const ownershipFaults = (owners: readonly Owner[], tables: readonly string[]): readonly string[] => {
  const owned = owners.flatMap((owner) => owner.tables)
  return [
    ...tables
      .filter((table) => !owned.includes(table))
      .map((table) => `the table ${table} has no owner: name it in a module.ts`),
    ...[...new Set(owned)]
      .filter((table) => owned.indexOf(table) !== owned.lastIndexOf(table))
      .map((table) => `the table ${table} has two owners: name it in one module.ts`),
    ...owned
      .filter((table) => !tables.includes(table))
      .map((table) => `the table ${table} is named in a module.ts, but no migration creates it`),
  ]
}

const faultOf = (path: string, { table, writes }: Access, owners: readonly Owner[]): string | null => {
  if (table === COMPUTED) return 'computes the name of a table: write it out'
  if (!/\.(store|report)\.ts$/.test(path)) return `names the table ${table}: SQL belongs in a store or a report`
  const isReport = path.endsWith('.report.ts')
  if (isReport && writes) return `writes the table ${table}: reports only read`
  const own = moduleOf(path)
  const owner = owners.findIndex((one) => one.tables.includes(table))
  if (owner < 0 || owners[owner]!.module === own) return null
  const isLater = owners.findIndex((one) => one.module === own) > owner
  if (isLater && isReport) return null
  const advice = isLater ? (writes ? 'call its module' : 'read it in a *.report.ts') : 'invert the dependency'
  return `names the table ${table}, which belongs to ${owners[owner]!.module}: ${advice}`
}

/** Lists violations, one line each. `owners` are in dependency order: later modules build on earlier ones. */
export const violations = (
  files: readonly SourceFile[],
  owners: readonly Owner[],
  tables: readonly string[],
): readonly string[] => {
  const faults = files.flatMap(({ path, text }) => [
    ...accessesIn(path, text, tables).flatMap((access) => {
      const fault = faultOf(path, access, owners)
      return fault === null ? [] : [`${path} ${fault}`]
    }),
    ...looseConditionsIn(path, text).map((condition) => `${path} lacks parentheses around ${condition}`),
  ])
  return [...ownershipFaults(owners, tables), ...new Set(faults)]
}

const filesUnder = (folder: string): readonly SourceFile[] =>
  (readdirSync(join(ROOT, folder), { recursive: true }) as string[])
    .filter((name) => name.endsWith('.ts') && !/\.(test|fixture)\.ts$/.test(name))
    .sort()
    .map((name) => ({
      path: `${folder}/${name.split(sep).join('/')}`,
      text: readFileSync(join(ROOT, folder, name), 'utf8'),
    }))

const MIGRATIONS = 'src/platform/db/migrations'
/** Tables of the migrations themselves. */
const UNOWNED = ['migrations']

/** Reads the names in a module.ts's `tables` without running it. */
export const namedIn = ({ path, text }: SourceFile): readonly string[] => {
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (
      ts.isPropertyAssignment(node) &&
      node.name.getText() === 'tables' &&
      ts.isArrayLiteralExpression(node.initializer)
    ) {
      found.push(...node.initializer.elements.filter(ts.isStringLiteral).map((element) => element.text))
    }
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true))
  return found
}

/** Returns the modules in the order of `MODULES` in app.ts. */
const ownersIn = (files: readonly SourceFile[]): readonly Owner[] => {
  const app = files.find(({ path }) => path === 'src/control/app.ts')!.text
  const modules = app
    .match(/MODULES = \{([^}]*)\}/)![1]!
    .split(',')
    .map((name) => name.trim())
  return modules.filter(Boolean).map((module) => ({
    module,
    tables: namedIn(files.find(({ path }) => path === `src/control/${module}/module.ts`)!),
  }))
}

const checkProject = (): readonly string[] => {
  const tables = tablesOf(filesUnder(MIGRATIONS).map(({ text }) => text)).filter((table) => !UNOWNED.includes(table))
  const control = filesUnder('src/control')
  const platform = filesUnder('src/platform').filter(({ path }) => !path.startsWith('src/platform/db/'))
  return violations([...control, ...platform], ownersIn(control), tables)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found = checkProject()
  for (const line of found) console.error(line)
  if (found.length > 0) process.exitCode = 1
}
