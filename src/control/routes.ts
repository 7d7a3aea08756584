import type { EnrollmentMode } from '../domain/access.ts'
import type { BlobStore } from '../platform/blobs/blob-store.ts'
import type { App } from '../platform/http/app.ts'
import { acceptUploads } from '../platform/http/upload.ts'
import { keysRoutes } from './access/keys/keys.routes.ts'
import type { KeysService } from './access/keys/keys.service.ts'
import { loginRoutes } from './access/login/login.routes.ts'
import type { LoginService } from './access/login/login.service.ts'
import { orgsRoutes } from './access/orgs/orgs.routes.ts'
import type { OrgsService } from './access/orgs/orgs.service.ts'
import { analyticsRoutes } from './analytics/analytics.routes.ts'
import type { AnalyticsService } from './analytics/analytics.service.ts'
import { benchmarksRoutes } from './catalog/benchmarks/benchmarks.routes.ts'
import type { BenchmarksService } from './catalog/benchmarks/benchmarks.service.ts'
import { modelsRoutes } from './catalog/models/models.routes.ts'
import type { ModelsService } from './catalog/models/models.service.ts'
import { uploadsRoutes } from './catalog/uploads/uploads.routes.ts'
import type { UploadsService } from './catalog/uploads/uploads.service.ts'
import { assignmentsRoutes } from './delivery/assignments/assignments.routes.ts'
import type { AssignmentsService } from './delivery/assignments/assignments.service.ts'
import { deploymentsRoutes } from './delivery/deployments/deployments.routes.ts'
import type { DeploymentsService } from './delivery/deployments/deployments.service.ts'
import { experimentsRoutes } from './delivery/experiments/experiments.routes.ts'
import type { ExperimentsService } from './delivery/experiments/experiments.service.ts'
import type { ObservationsService } from './delivery/experiments/observations.service.ts'
import { pairingsRoutes } from './delivery/pairings/pairings.routes.ts'
import type { PairingsService } from './delivery/pairings/pairings.service.ts'
import { policiesRoutes } from './delivery/policies/policies.routes.ts'
import type { PoliciesService } from './delivery/policies/policies.service.ts'
import { rolloutsRoutes } from './delivery/rollouts/rollouts.routes.ts'
import type { RolloutsService } from './delivery/rollouts/rollouts.service.ts'
import { federationsRoutes } from './federations/federations.routes.ts'
import type { FederationsService } from './federations/federations.service.ts'
import type { PrivacyService } from './federations/privacy.service.ts'
import { devicesRoutes } from './fleet/devices/devices.routes.ts'
import type { DevicesService } from './fleet/devices/devices.service.ts'
import { groupsRoutes } from './fleet/groups/groups.routes.ts'
import type { GroupsService } from './fleet/groups/groups.service.ts'
import { heartbeatsRoutes } from './fleet/heartbeats/heartbeats.routes.ts'
import type { HeartbeatsService } from './fleet/heartbeats/heartbeats.service.ts'
import { systemRoutes } from './operations/system/system.routes.ts'
import type { SystemService } from './operations/system/system.service.ts'
import { jobsRoutes } from './training/jobs/jobs.routes.ts'
import type { JobsService } from './training/jobs/jobs.service.ts'
import type { AggregationsService } from './training/rounds/aggregations.service.ts'
import { participantsRoutes } from './training/rounds/participants.routes.ts'
import { participationRoutes } from './training/rounds/participation.routes.ts'
import type { Participation } from './training/rounds/participation.service.ts'
import { receiptsRoutes } from './training/rounds/receipts.routes.ts'
import { roundsRoutes } from './training/rounds/rounds.routes.ts'
import type { RoundsService } from './training/rounds/rounds.service.ts'
import { updatesRoutes } from './training/rounds/updates.routes.ts'
import type { UpdatesService } from './training/rounds/updates.service.ts'
import { secureRoundsRoutes } from './training/secure-rounds/secure-rounds.routes.ts'
import type { SecureRoundsService } from './training/secure-rounds/secure-rounds.service.ts'

/** What the routes stand on: every feature's service, and the few facts that only transport cares about. */
export interface Services {
  readonly system: SystemService
  readonly devices: DevicesService
  readonly groups: GroupsService
  readonly heartbeats: HeartbeatsService
  readonly assignments: AssignmentsService
  readonly rollouts: RolloutsService
  readonly deployments: DeploymentsService
  readonly experiments: ExperimentsService
  readonly observations: ObservationsService
  readonly pairings: PairingsService
  readonly policies: PoliciesService
  readonly federations: FederationsService
  readonly privacy: PrivacyService
  readonly analytics: AnalyticsService
  readonly models: ModelsService
  readonly rounds: RoundsService
  readonly participation: Participation
  readonly secureRounds: SecureRoundsService
  readonly updates: UpdatesService
  readonly aggregations: AggregationsService
  readonly jobs: JobsService
  readonly keys: KeysService
  readonly orgs: OrgsService
  readonly benchmarks: BenchmarksService
  readonly login: LoginService
  readonly uploads: UploadsService
  readonly blobs: BlobStore
  readonly maxUploadBytes: number
  readonly enrollment: EnrollmentMode
  readonly version: string
  readonly now: () => Date
}

/** Every route of the control plane. Registering touches no service, so the API document needs none. */
export const registerRoutes = async (app: App, services: Services): Promise<void> => {
  const { blobs, maxUploadBytes, enrollment, now } = services
  systemRoutes(app, services.system, services)
  devicesRoutes(app, services.devices, now)
  groupsRoutes(app, services.groups, now)
  heartbeatsRoutes(app, services.heartbeats, services.devices)
  assignmentsRoutes(app, services.assignments, services.devices)
  rolloutsRoutes(app, services.rollouts, services.assignments, services.models)
  deploymentsRoutes(app, services.deployments)
  experimentsRoutes(app, services.experiments, services.observations)
  pairingsRoutes(app, services.pairings, now)
  policiesRoutes(app, services.policies, services.models)
  federationsRoutes(app, services.federations, services.privacy)
  analyticsRoutes(app, services.analytics, services.federations)
  roundsRoutes(app, services.rounds)
  participationRoutes(app, services.participation, blobs)
  participantsRoutes(app, services.participation)
  receiptsRoutes(app, services.aggregations)
  secureRoundsRoutes(app, services.secureRounds)
  jobsRoutes(app, services.jobs)
  keysRoutes(app, services.keys, now)
  orgsRoutes(app, services.orgs)
  benchmarksRoutes(app, services.benchmarks)
  loginRoutes(app, services.login, enrollment)
  await app.register(async (scope: App) => uploadsRoutes(scope, services.uploads))
  await app.register(async (scope: App) => {
    await acceptUploads(scope)
    modelsRoutes(scope, services.models, { blobs, uploads: services.uploads, maxUploadBytes })
    updatesRoutes(scope, services.updates, services.rounds, { blobs, maxUploadBytes })
  })
}
