import { createDeliveryPlans } from '../features/assignments/delivery-plans.service.ts'
import { createPlansStore } from '../features/assignments/plans.store.ts'
import { createBenchmarksService } from '../features/benchmarks/benchmarks.service.ts'
import { createBenchmarksStore } from '../features/benchmarks/benchmarks.store.ts'
import { createDeploymentsStore } from '../features/deployments/deployments.store.ts'
import { createDevicesService } from '../features/devices/devices.service.ts'
import { createDevicesStore } from '../features/devices/devices.store.ts'
import { createExperimentsStore } from '../features/experiments/experiments.store.ts'
import { createSharedModelsStore } from '../features/federations/shared-models.store.ts'
import { createFilesService } from '../features/files/files.service.ts'
import { createFilesStore } from '../features/files/files.store.ts'
import { createGroupsService } from '../features/groups/groups.service.ts'
import { createGroupsStore } from '../features/groups/groups.store.ts'
import { createKeysService } from '../features/keys/keys.service.ts'
import { createKeysStore } from '../features/keys/keys.store.ts'
import { createLoginService } from '../features/login/login.service.ts'
import { createLoginStore } from '../features/login/login.store.ts'
import { createModelsService } from '../features/models/models.service.ts'
import { createModelsStore } from '../features/models/models.store.ts'
import { recogniseFile } from '../features/models/recognise.ts'
import { createOrgsService } from '../features/orgs/orgs.service.ts'
import { createOrgsStore } from '../features/orgs/orgs.store.ts'
import { createRolloutsStore } from '../features/rollouts/rollouts.store.ts'
import type { RoundSignal } from '../features/rounds/round-signal.ts'
import { createUploadsService } from '../features/uploads/uploads.service.ts'
import type { Foundation } from './foundation.ts'

/** Who and what there is: organisations, keys, devices and their groups, files and models. */
export type Catalogue = ReturnType<typeof composeCatalogue>

export const composeCatalogue = (foundation: Foundation, changes: RoundSignal) => {
  const { config, database, blobs, partials, now, newId } = foundation
  const { enrollment } = config
  const files = createFilesService({ database, store: createFilesStore(), blobs, now })
  const uploads = createUploadsService({ partials, blobs, maxBytes: config.maxUploadBytes, now })
  const keys = createKeysService({ database, store: createKeysStore(), enrollment, now, newId })
  const devices = createDevicesService({ database, store: createDevicesStore(), keys, enrollment, now, newId })
  const rolloutsStore = createRolloutsStore()
  const deploymentsStore = createDeploymentsStore()
  const experimentsStore = createExperimentsStore()
  const plans = createDeliveryPlans({
    database,
    store: createPlansStore(),
    sources: [rolloutsStore, deploymentsStore, experimentsStore],
    unboundReachAll: enrollment === 'open',
    changed: () => changes.fire('plans'),
  })
  const groups = createGroupsService({ database, store: createGroupsStore(), plans, devices, now, newId })
  const sharedModels = createSharedModelsStore()
  const models = createModelsService({
    database,
    store: createModelsStore(),
    shared: sharedModels,
    files,
    plans,
    recognise: recogniseFile,
    now,
    newId,
  })
  const orgs = createOrgsService({ database, store: createOrgsStore(), now })
  const benchmarks = createBenchmarksService({ database, store: createBenchmarksStore(), now, newId })
  const login = createLoginService({ database, store: createLoginStore(), keys, enrollment, now })
  return {
    files,
    uploads,
    keys,
    devices,
    groups,
    models,
    orgs,
    benchmarks,
    login,
    plans,
    sharedModels,
    planned: { rollouts: rolloutsStore, deployments: deploymentsStore, experiments: experimentsStore },
  }
}
