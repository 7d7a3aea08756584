// Who may import whom: the table in docs/architecture.md, as a rule that fails the check.
const rooms = {
  domain: [],
  tensors: ['domain'],
  threads: [],
  'secure-aggregation': ['domain'],
  aggregation: ['domain', 'tensors', 'threads', 'secure-aggregation'],
  accounting: ['domain', 'threads'],
  db: ['domain', 'threads'],
  blobs: ['domain'],
  http: ['domain'],
  features: ['domain', 'tensors', 'aggregation', 'accounting', 'secure-aggregation', 'db', 'blobs', 'http'],
  inference: ['domain', 'http', 'threads'],
  client: ['domain'],
  device: ['domain', 'tensors', 'client', 'secure-aggregation'],
  cli: ['domain', 'client', 'device', 'inference'],
  demo: ['client', 'device', 'threads'],
}

const tests = '\\.test\\.ts$'
const nodeBuiltin = { dependencyTypes: ['core'] }

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: { pathNot: tests }, to: { circular: true } },
    ...Object.entries(rooms).map(([room, allowed]) => ({
      name: `${room}-imports-only-its-neighbours`,
      comment: `${room} may import: ${allowed.join(', ') || 'nothing'}`,
      severity: 'error',
      from: { path: `^src/${room}/`, pathNot: tests },
      to: { path: '^src/', pathNot: [room, ...allowed].map((name) => `^src/${name}/`) },
    })),
    {
      name: 'every-room-is-in-the-table',
      severity: 'error',
      from: { path: '^src/[^/]+/', pathNot: [...Object.keys(rooms), 'compose'].map((name) => `^src/${name}/`) },
      to: {},
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
      from: { path: '^src/features/([^/]+)/', pathNot: tests },
      to: { path: '^src/features/([^/]+)/', pathNot: ['^src/features/$1/', '\\.(service|schema)\\.ts$'] },
    },
    {
      name: 'sql-lives-in-stores',
      severity: 'error',
      from: { path: '^src/', pathNot: ['\\.store\\.ts$', '^src/platform/db/', tests] },
      to: { path: '^node_modules/(kysely|pg|@electric-sql)/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'stores-and-services-know-no-http',
      severity: 'error',
      from: { path: '^src/features/.*\\.(store|service)\\.ts$' },
      to: { path: ['^src/platform/http/', '^node_modules/(fastify|@fastify)/'] },
    },
    {
      name: 'only-services-call-stores',
      severity: 'error',
      from: { path: '^src/features/', pathNot: ['\\.(service|store)\\.ts$', tests] },
      to: { path: '\\.store\\.ts$' },
    },
    {
      name: 'fixtures-are-for-tests',
      comment: 'they are not built',
      severity: 'error',
      from: { path: '^src/', pathNot: [tests, '\\.fixture\\.ts$'] },
      to: { path: '\\.fixture\\.ts$' },
    },
    {
      name: 'runs-in-a-browser',
      comment: 'tensors, client, secure-aggregation and the SDK part of device are used by web pages too',
      severity: 'error',
      from: {
        path: ['^src/(tensors|client|secure-aggregation)/', '^src/sdk/'],
        // Browsers have no ChaCha20 of their own; programs in Node pass this one in.
        pathNot: [tests, '^src/secure-aggregation/platform-mask\\.ts$'],
      },
      to: nodeBuiltin,
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(test|dist)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
}
