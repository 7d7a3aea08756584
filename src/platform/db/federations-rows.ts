import type { Generated } from 'kysely'

// Rows of the federations module's tables; see rows.ts.

export interface FederationRow {
  id: string
  ordinal: Generated<number>
  name: string
  description: string
  org_id: string
  status: string
  created_at: Date
}

export interface FederationMemberRow {
  federation_id: string
  org_id: string
  /** owner or member */
  role: string
  /** invited or active */
  status: string
  invited_at: Date | null
  joined_at: Date | null
}

export interface FederationModelRow {
  federation_id: string
  model_id: string
  shared_at: Date
  /** Added by 0019-model-retention. */
  is_result: Generated<boolean>
}

export interface PrivacyBudgetRow {
  federation_id: string
  total_epsilon: number
  total_delta: number
  updated_at: Date
  revision: Generated<number>
}

export interface PrivacyLedgerRow {
  id: string
  ordinal: Generated<number>
  federation_id: string
  round_id: string
  job_id: string | null
  /** reserved, settled or released */
  status: string
  noise_multiplier: number
  sample_rate: number
  steps: number
  clip_norm: number | null
  epsilon_after: number | null
  accountant: string | null
  reserved_at: Date
  settled_at: Date | null
}

export interface FederationsTables {
  federations: FederationRow
  federation_members: FederationMemberRow
  federation_models: FederationModelRow
  privacy_budgets: PrivacyBudgetRow
  privacy_ledger: PrivacyLedgerRow
}
