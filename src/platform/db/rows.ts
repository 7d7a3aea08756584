import type { AccessTables } from './access-rows.ts'
import type { AnalyticsTables } from './analytics-rows.ts'
import type { CatalogTables } from './catalog-rows.ts'
import type { DeliveryTables } from './delivery-rows.ts'
import type { FederationsTables } from './federations-rows.ts'
import type { FleetTables } from './fleet-rows.ts'
import type { OperationsTables } from './operations-rows.ts'
import type { TrainingTables } from './training-rows.ts'

/**
 * All tables. The row types, in one file per module of the control plane that owns the tables, match what the driver returns:
 * bigint columns are read as numbers (all sizes and sample counts are below 2^53), timestamps as Date, jsonb as parsed values.
 * Written values of jsonb columns are JSON text.
 */
export interface Tables
  extends AccessTables,
    CatalogTables,
    FederationsTables,
    FleetTables,
    DeliveryTables,
    TrainingTables,
    AnalyticsTables,
    OperationsTables {}
