import { createKeysService } from '../access/keys/keys.service.ts'
import { createKeysStore } from '../access/keys/keys.store.ts'
import { createLoginService } from '../access/login/login.service.ts'
import { createLoginStore } from '../access/login/login.store.ts'
import { createOrgsService } from '../access/orgs/orgs.service.ts'
import { createOrgsStore } from '../access/orgs/orgs.store.ts'
import { createBenchmarksService } from '../catalog/benchmarks/benchmarks.service.ts'
import { createBenchmarksStore } from '../catalog/benchmarks/benchmarks.store.ts'
import { createFilesService } from '../catalog/files/files.service.ts'
import { createFilesStore } from '../catalog/files/files.store.ts'
import { createModelsService } from '../catalog/models/models.service.ts'
import { createModelsStore } from '../catalog/models/models.store.ts'
import { recogniseFile } from '../catalog/models/recognise.ts'
import { createUploadsService } from '../catalog/uploads/uploads.service.ts'
import { createDeliveryPlans } from '../delivery/assignments/delivery-plans.service.ts'
import { createPlansStore } from '../delivery/assignments/plans.store.ts'
import { createDeploymentsStore } from '../delivery/deployments/deployments.store.ts'
import { createExperimentsStore } from '../delivery/experiments/experiments.store.ts'
import { createRolloutsStore } from '../delivery/rollouts/rollouts.store.ts'
import { createSharedModelsStore } from '../federations/shared-models.store.ts'
import { createDevicesService } from '../fleet/devices/devices.service.ts'
import { createDevicesStore } from '../fleet/devices/devices.store.ts'
import { createGroupsService } from '../fleet/groups/groups.service.ts'
import { createGroupsStore } from '../fleet/groups/groups.store.ts'
import type { RoundSignal } from '../training/rounds/round-signal.ts'
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
