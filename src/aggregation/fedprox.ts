import { fedavg } from './fedavg.ts'

/**
 * Federated averaging of models that devices trained with a proximal term (mu / 2) |w - w_t|^2 (Li et al. 2020, "Federated
 * Optimization in Heterogeneous Networks", algorithm 2). The term affects only the devices. Partial work of slow devices
 * counts like any other.
 */
export const fedprox = fedavg
