import { fedavg } from './fedavg.ts'

/**
 * Federated averaging of what devices trained with a proximal term (mu / 2) |w - w_t|^2 (Li et al. 2020, "Federated
 * Optimization in Heterogeneous Networks", algorithm 2). All of it happens on the devices; work that a slow device left
 * unfinished counts like any other.
 */
export const fedprox = fedavg
