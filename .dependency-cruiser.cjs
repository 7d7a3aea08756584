// Who may import whom: the table in docs/architecture.md, as a rule that fails the check.
const rooms = {
  domain: [],
  tensors: ['domain'],
  'secure-aggregation': ['domain'],
  'platform/threads': [],
  'platform/http': ['domain'],
  'platform/blobs': ['domain', 'platform/threads', 'platform/files', 'platform/transfer'],
  'platform/files': [],
  'platform/transfer': ['domain', 'platform/files'],
  'platform/db': ['domain', 'platform/files', 'platform/threads'],
  'platform/events': ['domain', 'platform/db'],
  aggregation: ['domain', 'tensors', 'secure-aggregation', 'platform/threads'],
  convert: ['domain', 'tensors', 'platform/files', 'platform/threads', 'inference/models/gguf'],
  control: ['domain', 'tensors', 'convert', 'aggregation', 'secure-aggregation', 'platform'],
  client: ['domain'],
  sdk: ['domain', 'tensors', 'client', 'secure-aggregation', 'platform/transfer'],
  agent: [
    'sdk',
    'domain',
    'client',
    'tensors',
    'secure-aggregation',
    'platform/files',
    'platform/threads',
    'platform/transfer',
  ],
  inference: ['domain', 'platform/http', 'platform/threads', 'platform/files', 'platform/transfer'],
  cli: [
    'domain',
    'client',
    'sdk',
    'agent',
    'inference',
    'convert',
    'tensors',
    'platform/threads',
    'platform/files',
    'platform/transfer',
  ],
  web: ['domain', 'client'],
  demo: ['client', 'sdk', 'platform/threads'],
}

/** The modules of the control plane: each may import those before it. */
const modules = [
  'access',
  'catalog',
  'federations',
  'fleet',
  'delivery',
  'training',
  'analytics',
  'inference',
  'operations',
]

/** The dashboard's parts: each may import those before it. */
const webParts = ['text', 'url', 'api', 'live', 'parts', 'shell', 'pages']

const tests = '\\.test\\.tsx?$'
const fixtures = '\\.fixture\\.ts$'
/** The files that nothing imports: programs, workers, what the package exports, and what the build runs. */
const programs = '(/(main|index)\\.tsx?|\\.(worker|process)\\.ts|/write-(migrated-)?template\\.ts|\\.d\\.ts)$'
/** The files of platform/transfer that run in a browser too. */
const browserTransfer = '^src/platform/transfer/(abortable-body|resume-download|transfer-error)\\.ts$'
/** What every room may import: two files of settings. */
const settings = '^src/(config|version)\\.ts$'

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: { pathNot: tests }, to: { circular: true } },
    {
      name: 'no-folder-cycles',
      severity: 'error',
      scope: 'folder',
      from: { path: '^src/', pathNot: '^src/control$' },
      to: { circular: true },
    },
    ...Object.entries(rooms).map(([room, allowed]) => ({
      name: `${room.replace('/', '-')}-imports-only-its-neighbors`,
      comment: `${room} may import: ${allowed.join(', ') || 'nothing'}`,
      severity: 'error',
      from: { path: `^src/${room}/`, pathNot: tests },
      to: { path: '^src/', pathNot: [settings, ...[room, ...allowed].map((name) => `^src/${name}/`)] },
    })),
    {
      name: 'every-room-is-in-the-table',
      severity: 'error',
      from: {
        path: '^src/[^/]+/',
        // The file above the rooms of the platform, which uses the key files.
        pathNot: ['^src/platform/secrets\\.ts$', ...Object.keys(rooms).map((name) => `^src/${name}/`)],
      },
      to: { path: '^src/' },
    },
    ...modules.slice(0, -1).map((module, position) => ({
      name: `${module}-imports-no-later-module`,
      severity: 'error',
      from: { path: `^src/control/${module}/`, pathNot: [tests, fixtures] },
      to: { path: `^src/control/(${modules.slice(position + 1).join('|')})/` },
    })),
    ...webParts.slice(0, -1).map((part, position) => ({
      name: `web-${part}-imports-no-later-part`,
      severity: 'error',
      from: { path: `^src/web/${part}/`, pathNot: tests },
      to: { path: `^src/web/(${webParts.slice(position + 1).join('|')})/` },
    })),
    {
      name: 'one-page-imports-no-other',
      severity: 'error',
      from: { path: '^src/web/pages/([^/]+)/' },
      to: { path: '^src/web/pages/[^/]+/', pathNot: '^src/web/pages/$1/' },
    },
    {
      name: 'domain-is-pure',
      severity: 'error',
      from: { path: '^src/domain/', pathNot: tests },
      to: { dependencyTypes: ['core', 'npm'] },
    },
    {
      name: 'one-feature-meets-another-through-its-service',
      severity: 'error',
      from: { path: '^src/control/([^/]+/[^/]+)/', pathNot: tests },
      to: {
        path: '^src/control/[^/]+/[^/]+/',
        pathNot: ['^src/control/$1/', '\\.(service|schema|present)\\.ts$', '/accounting/'],
      },
    },
    {
      name: 'sql-lives-in-stores',
      severity: 'error',
      from: { path: '^src/', pathNot: ['\\.(store|report)\\.ts$', '^src/platform/db/', tests] },
      to: { path: '^node_modules/(kysely|pg|@electric-sql)/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'stores-and-services-know-no-http',
      severity: 'error',
      from: { path: '^src/control/.*\\.(store|report|service)\\.ts$' },
      to: { path: ['^src/platform/http/', '^node_modules/(fastify|@fastify)/'], pathNot: '/wire.schema.ts$' },
    },
    {
      name: 'only-services-call-stores',
      severity: 'error',
      from: { path: '^src/control/', pathNot: ['\\.(service|store|report)\\.ts$', 'module\\.ts$', tests] },
      to: { path: '\\.(store|report)\\.ts$' },
    },
    {
      name: 'every-file-is-imported',
      comment: 'add it to its list, such as all.ts, commands.ts, or pages.ts (CONTRIBUTING.md), or delete it',
      severity: 'error',
      from: {},
      module: { path: '^src/', pathNot: [programs, fixtures], numberOfDependentsLessThan: 1 },
    },
    {
      name: 'fixtures-are-for-tests',
      comment: 'they are not built',
      severity: 'error',
      from: { path: '^src/', pathNot: [tests, fixtures] },
      to: { path: fixtures },
    },
    {
      name: 'the-sdk-transfers-without-files',
      comment: 'the other files of the transfers need Node',
      severity: 'error',
      from: { path: ['^src/sdk/', browserTransfer], pathNot: tests },
      to: { path: '^src/platform/transfer/', pathNot: browserTransfer },
    },
    {
      name: 'runs-in-a-browser',
      comment:
        'tensors, client, secure-aggregation and the SDK are used by web pages too, with three files of the transfers',
      severity: 'error',
      from: {
        path: ['^src/(tensors|client|secure-aggregation|sdk)/', browserTransfer],
        // Browsers have no ChaCha20 of their own; programs in Node pass this one in.
        pathNot: [tests, '^src/secure-aggregation/platform-crypto\\.ts$'],
      },
      to: { dependencyTypes: ['core'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // Tests may import anything: no rule is about them.
    exclude: { path: ['^(test|dist)/', '\\.test\\.ts$'] },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
}
