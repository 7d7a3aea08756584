import type { BlobStore } from './blobs/blob-store.ts'
import type { EnrollmentMode } from './domain/access.ts'
import { analyticsRoutes } from './features/analytics/analytics.routes.ts'
import type { AnalyticsService } from './features/analytics/analytics.service.ts'
import { assignmentsRoutes } from './features/assignments/assignments.routes.ts'
import type { AssignmentsService } from './features/assignments/assignments.service.ts'
import { benchmarksRoutes } from './features/benchmarks/benchmarks.routes.ts'
import type { BenchmarksService } from './features/benchmarks/benchmarks.service.ts'
import { deploymentsRoutes } from './features/deployments/deployments.routes.ts'
import type { DeploymentsService } from './features/deployments/deployments.service.ts'
import { devicesRoutes } from './features/devices/devices.routes.ts'
import type { DevicesService } from './features/devices/devices.service.ts'
import { experimentsRoutes } from './features/experiments/experiments.routes.ts'
import type { ExperimentsService } from './features/experiments/experiments.service.ts'
import type { ObservationsService } from './features/experiments/observations.service.ts'
import { federationsRoutes } from './features/federations/federations.routes.ts'
import type { FederationsService } from './features/federations/federations.service.ts'
import type { PrivacyService } from './features/federations/privacy.service.ts'
import { groupsRoutes } from './features/groups/groups.routes.ts'
import type { GroupsService } from './features/groups/groups.service.ts'
import { heartbeatsRoutes } from './features/heartbeats/heartbeats.routes.ts'
import type { HeartbeatsService } from './features/heartbeats/heartbeats.service.ts'
import { jobsRoutes } from './features/jobs/jobs.routes.ts'
import type { JobsService } from './features/jobs/jobs.service.ts'
import { keysRoutes } from './features/keys/keys.routes.ts'
import type { KeysService } from './features/keys/keys.service.ts'
import { loginRoutes } from './features/login/login.routes.ts'
import type { LoginService } from './features/login/login.service.ts'
import { modelsRoutes } from './features/models/models.routes.ts'
import type { ModelsService } from './features/models/models.service.ts'
import { orgsRoutes } from './features/orgs/orgs.routes.ts'
import type { OrgsService } from './features/orgs/orgs.service.ts'
import { pairingsRoutes } from './features/pairings/pairings.routes.ts'
import type { PairingsService } from './features/pairings/pairings.service.ts'
import { policiesRoutes } from './features/policies/policies.routes.ts'
import type { PoliciesService } from './features/policies/policies.service.ts'
import { rolloutsRoutes } from './features/rollouts/rollouts.routes.ts'
import type { RolloutsService } from './features/rollouts/rollouts.service.ts'
import type { AggregationsService } from './features/rounds/aggregations.service.ts'
import { participantsRoutes } from './features/rounds/participants.routes.ts'
import { participationRoutes } from './features/rounds/participation.routes.ts'
import type { Participation } from './features/rounds/participation.service.ts'
import { receiptsRoutes } from './features/rounds/receipts.routes.ts'
import { roundsRoutes } from './features/rounds/rounds.routes.ts'
import type { RoundsService } from './features/rounds/rounds.service.ts'
import { updatesRoutes } from './features/rounds/updates.routes.ts'
import type { UpdatesService } from './features/rounds/updates.service.ts'
import { secureRoundsRoutes } from './features/secure-rounds/secure-rounds.routes.ts'
import type { SecureRoundsService } from './features/secure-rounds/secure-rounds.service.ts'
import { systemRoutes } from './features/system/system.routes.ts'
import type { SystemService } from './features/system/system.service.ts'
import { uploadsRoutes } from './features/uploads/uploads.routes.ts'
import type { UploadsService } from './features/uploads/uploads.service.ts'
import type { App } from './http/app.ts'
import { acceptUploads } from './http/upload.ts'

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
