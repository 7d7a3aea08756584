/**
 * The API document's examples tell one story: the organization acme trains its keyboard model next-word on its phones and
 * delivers each better version to them. These are the ids and times that the examples share.
 */
const id = (n: number): string => `0d9f1c2e-5b7a-4c3d-8e6f-${String(n).padStart(12, '0')}`

export const ids = {
  device: id(42),
  otherDevice: id(43),
  group: id(101),
  model: id(201),
  aggregatedModel: id(202),
  rollout: id(301),
  deployment: id(302),
  experiment: id(303),
  pairing: id(304),
  decision: id(305),
  round: id(401),
  job: id(402),
  update: id(403),
  federation: id(501),
  query: id(601),
  key: id(701),
  benchmark: id(801),
  approval: id(901),
  erasure: id(44),
} as const

export const times = {
  created: '2026-03-02T09:00:00.000Z',
  started: '2026-03-02T09:05:00.000Z',
  reported: '2026-03-02T09:12:30.000Z',
  ended: '2026-03-02T09:15:00.000Z',
  later: '2026-03-02T10:05:00.000Z',
} as const

export const hashes = {
  model: `sha256:${'9b74c9897bac770ffc029102a200c5de'.repeat(2)}`,
  update: `sha256:${'5f4dcc3b5aa765d61d8327deb882cf99'.repeat(2)}`,
} as const

export const page = { total: 1, limit: 100, offset: 0 } as const
