import { sql } from 'kysely'
import type { FileReferences } from '../../catalog/files/files.service.ts'

/**
 * Files of updates, and those that rounds and jobs hand on. What a round began from and what came of it is needed as long as its
 * aggregation can be repeated, that is while its updates are kept.
 */
export const trainingReferences: FileReferences = (sha256) => sql<boolean>`(
  exists (select from updates u where u.sha256 = ${sha256})
  or exists (select from updates u where u.control_sha256 = ${sha256})
  or exists (select from training_jobs j where j.state_sha256 = ${sha256})
  or exists (select from training_jobs j where j.control_sha256 = ${sha256})
  or exists (select from rounds r where r.updates_deleted_at is null
    and ${sha256} in (r.global_sha256, r.aggregated_sha256, r.state_sha256, r.control_sha256)))`
