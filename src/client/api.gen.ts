// Generated from openapi.json by `npm run gen`. Do not edit.
export interface paths {
    "/api/v1/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the service answers */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Devices, models and the latest round in figures */
        get: operations["getStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/devices/register": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Register a device; its API key is in this answer and nowhere else */
        post: operations["registerDevice"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/devices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the devices of an organisation, oldest first */
        get: operations["listDevices"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/devices/{device_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One device, by its user-chosen id */
        get: operations["getDevice"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/device-groups": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the device groups of an organisation, oldest first */
        get: operations["listGroups"];
        put?: never;
        /** Create a device group, without devices */
        post: operations["createGroup"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/device-groups/{group_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One device group */
        get: operations["getGroup"];
        /** Change the name, description or tags; what is left out stays as it is */
        put: operations["updateGroup"];
        post?: never;
        /** Delete a device group; its devices stay registered */
        delete: operations["deleteGroup"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/device-groups/{group_id}/devices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The devices of a group, in the order in which they were added */
        get: operations["listGroupDevices"];
        put?: never;
        /** Add up to 1,000 devices */
        post: operations["addGroupDevices"];
        /** Remove up to 1,000 devices */
        delete: operations["removeGroupDevices"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/device-groups/{group_id}/devices/{device_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Add one device; one that is in the group already is skipped */
        post: operations["addGroupDevice"];
        /** Remove one device; one that is not in the group is skipped */
        delete: operations["removeGroupDevice"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/devices/{device_id}/heartbeat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** A sign of life, with metrics; the answer tells of a round that awaits the device, and what to run */
        put: operations["sendHeartbeat"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/devices/{device_id}/assignments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Ours: what a device is to run, at most one version of each model. Unchanged (If-None-Match) is 304 */
        get: operations["listAssignments"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/devices/{device_id}/assignments/{plan_id}/report": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ours: how far a device has come with what a plan gave it. Saying it twice is saying it once */
        post: operations["reportAssignment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/rollouts/active": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The rollouts under way, newest first */
        get: operations["listActiveRollouts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/models/{model_id}/rollouts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Ours: a model's rollouts in every state, newest first */
        get: operations["listRollouts"];
        put?: never;
        /** Bring a version to a growing part of the fleet, for as long as health holds */
        post: operations["createRollout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/models/{model_id}/rollouts/dry-run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ours: how a rollout would go if health held; creates nothing */
        post: operations["foreseeRollout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/models/{model_id}/rollouts/{rollout_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One rollout, with what its devices reported */
        get: operations["getRollout"];
        put?: never;
        post?: never;
        /** Cancel and delete a rollout: its devices get what they got before */
        delete: operations["deleteRollout"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/models/{model_id}/rollouts/{rollout_id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Ours: everything that happened to a rollout, oldest first */
        get: operations["getRolloutHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/models/{model_id}/rollouts/{rollout_id}/devices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Ours: the devices that a rollout reaches or has reached, with what they reported */
        get: operations["listRolloutDevices"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/models/{model_id}/rollouts/{rollout_id}/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ours: start a rollout that was created pending */
        post: operations["startRollout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/models/{model_id}/rollouts/{rollout_id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ours: let it reach no more devices for now; those it has reached keep the version */
        post: operations["pauseRollout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/models/{model_id}/rollouts/{rollout_id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ours: go on; health counts anew from here */
        post: operations["resumeRollout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/models/{model_id}/rollouts/{rollout_id}/advance": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ours: take the next step now */
        post: operations["advanceRollout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/models/{model_id}/rollouts/{rollout_id}/rollback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ours: give every device what it got before */
        post: operations["rollbackRollout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/models/{model_id}/rollouts/{rollout_id}/percentage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Ours: set how much of the fleet it reaches; lowering it takes devices out again */
        put: operations["setRolloutPercentage"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training/rounds/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start a training round: devices are drawn, and the global model is theirs to fetch */
        post: operations["startRound"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training/rounds/current": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The round with the highest number, whatever its status */
        get: operations["getCurrentRound"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training/rounds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Ours: all rounds, newest first */
        get: operations["listRounds"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training/rounds/{round_id}/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One round */
        get: operations["getRoundStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training/rounds/{round_id}/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Ours: what a device needs to know to take part */
        get: operations["getRoundPlan"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training/rounds/{round_id}/model": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Ours: the round's global model; fetching it counts the device as participating */
        get: operations["downloadRoundModel"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training/rounds/{round_id}/selection": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Ours: whether a device was selected, and why or why not */
        get: operations["explainSelection"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training/rounds/{round_id}/receipt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Ours: what a completed round was made of */
        get: operations["getReceipt"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training/rounds/{round_id}/receipt/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ours: add the kept updates up once more and compare the bytes with the receipt */
        post: operations["replayReceipt"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Ours: keys of people and programs, newest first, without the keys themselves */
        get: operations["listKeys"];
        put?: never;
        /** Ours: make an API key; it is in this answer and nowhere else */
        post: operations["createKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys/self": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Ours: what the key of this request is and may do */
        get: operations["getOwnKey"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys/{key_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Ours: revoke a key; it stops working at once */
        delete: operations["revokeKey"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/orgs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ours: create an organisation, to which keys and devices can then be bound */
        post: operations["createOrg"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/orgs/{org_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Ours: one organisation */
        get: operations["getOrg"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/login/authorize": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ours: approve a browser login of the command line */
        post: operations["authorizeLogin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/login/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ours: exchange a login code for a key */
        post: operations["exchangeLoginCode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the catalog, newest first */
        get: operations["listModels"];
        put?: never;
        /** Add a model to the catalog; its weights are uploaded as versions */
        post: operations["createModel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/models/{model_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One model with its versions */
        get: operations["getModel"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/models/{model_id}/versions/upload": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Upload weights as the next version of a model */
        post: operations["uploadVersion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/models/{model_id}/versions/{version}/download": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The weights of a version; supports Range, If-None-Match and HEAD */
        get: operations["downloadVersion"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training/rounds/{round_id}/updates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Submit locally trained weights; counts for the device that owns the key */
        post: operations["submitUpdate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training/rounds/{round_id}/failures": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ours: a participant gives up, with a reason; the round stops waiting for it */
        post: operations["reportFailure"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Error: {
            /**
             * @description Machine code
             * @enum {string}
             */
            error: "bad_request" | "unauthorized" | "forbidden" | "not_found" | "conflict" | "rate_limited" | "internal_error";
            /** @description Human-readable text */
            message: string;
            /** @description HTTP status */
            status_code: number;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        status: string;
                        version: string;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        timestamp: string;
                    };
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getStatus: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "operational" | "degraded" | "maintenance";
                        active_devices: number;
                        total_devices: number;
                        current_round_number: number | null;
                        current_round_status: ("pending" | "active" | "aggregating" | "completed" | "failed") | null;
                        total_models: number;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        timestamp: string;
                    };
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    registerDevice: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Chosen by the user, unique */
                    device_id: string;
                    /** @enum {string} */
                    platform?: "ios" | "android" | "macos" | "linux" | "windows" | "browser" | "python" | "unknown";
                    capabilities?: {
                        [key: string]: unknown;
                    };
                    org_id?: string;
                };
            };
        };
        responses: {
            /** @description Default Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        id: string;
                        device_id: string;
                        /** @description Shown this once; cannot be retrieved later */
                        api_key: string;
                        /** @enum {string} */
                        platform: "ios" | "android" | "macos" | "linux" | "windows" | "browser" | "python" | "unknown";
                        /** @enum {string} */
                        status: "active" | "inactive";
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource already exists, or its state does not allow this */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listDevices: {
        parameters: {
            query: {
                org_id: string;
                platform?: "ios" | "android" | "macos" | "linux" | "windows" | "browser" | "python" | "unknown";
                status?: "active" | "inactive";
                limit?: number;
                offset?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        devices: {
                            /** Format: uuid */
                            id: string;
                            device_identifier: string;
                            org_id: string;
                            /** @enum {string} */
                            platform: "ios" | "android" | "macos" | "linux" | "windows" | "browser" | "python" | "unknown";
                            /** @enum {string} */
                            status: "active" | "inactive";
                            /**
                             * Format: date-time
                             * @description ISO 8601, UTC
                             */
                            last_seen_at: string;
                        }[];
                        total: number;
                        limit: number;
                        offset: number;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getDevice: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                device_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        id: string;
                        device_id: string;
                        org_id: string | null;
                        /** @enum {string} */
                        platform: "ios" | "android" | "macos" | "linux" | "windows" | "browser" | "python" | "unknown";
                        capabilities: {
                            [key: string]: unknown;
                        };
                        /** @enum {string} */
                        status: "active" | "inactive";
                        metrics: {
                            [key: string]: unknown;
                        } | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        last_heartbeat: string;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        updated_at: string;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listGroups: {
        parameters: {
            query: {
                org_id: string;
                limit?: number;
                offset?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        groups: {
                            /** Format: uuid */
                            id: string;
                            org_id: string;
                            name: string;
                            description: string;
                            group_type: string;
                            tags: string[];
                            device_count: number;
                            /**
                             * Format: date-time
                             * @description ISO 8601, UTC
                             */
                            created_at: string;
                        }[];
                        total: number;
                        limit: number;
                        offset: number;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    createGroup: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    org_id: string;
                    /** @description Unique in the organisation */
                    name: string;
                    description?: string;
                    /** @description static when absent */
                    group_type?: string;
                    tags?: string[];
                };
            };
        };
        responses: {
            /** @description Default Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        id: string;
                        org_id: string;
                        name: string;
                        description: string;
                        group_type: string;
                        tags: string[];
                        device_count: number;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource already exists, or its state does not allow this */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getGroup: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                group_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        id: string;
                        org_id: string;
                        name: string;
                        description: string;
                        group_type: string;
                        tags: string[];
                        device_count: number;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    updateGroup: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                group_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Unique in the organisation */
                    name?: string;
                    description?: string;
                    tags?: string[];
                };
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        id: string;
                        org_id: string;
                        name: string;
                        description: string;
                        group_type: string;
                        tags: string[];
                        device_count: number;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource already exists, or its state does not allow this */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteGroup: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                group_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        group_id: string;
                        deleted: boolean;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listGroupDevices: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
            };
            header?: never;
            path: {
                group_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        devices: {
                            /** Format: uuid */
                            id: string;
                            device_identifier: string;
                            org_id: string;
                            /** @enum {string} */
                            platform: "ios" | "android" | "macos" | "linux" | "windows" | "browser" | "python" | "unknown";
                            /** @enum {string} */
                            status: "active" | "inactive";
                            /**
                             * Format: date-time
                             * @description ISO 8601, UTC
                             */
                            last_seen_at: string;
                            added_by: string | null;
                            /**
                             * Format: date-time
                             * @description ISO 8601, UTC
                             */
                            added_at: string;
                        }[];
                        total: number;
                        limit: number;
                        offset: number;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    addGroupDevices: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                group_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description User-chosen ids */
                    device_ids: string[];
                    /** @description A label for audits */
                    added_by?: string;
                };
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        group_id: string;
                        added: string[];
                        /** @description In the group already, or no device of its organisation */
                        skipped: string[];
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    removeGroupDevices: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                group_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description User-chosen ids */
                    device_ids: string[];
                };
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        group_id: string;
                        removed: string[];
                        /** @description Not in the group */
                        skipped: string[];
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    addGroupDevice: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                group_id: string;
                device_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        group_id: string;
                        added: string[];
                        /** @description In the group already, or no device of its organisation */
                        skipped: string[];
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    removeGroupDevice: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                group_id: string;
                device_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        group_id: string;
                        removed: string[];
                        /** @description Not in the group */
                        skipped: string[];
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    sendHeartbeat: {
        parameters: {
            query?: {
                /** @description Ours: hold the answer until a round awaits the device or its assignments change, at most so long */
                wait_seconds?: number;
                /** @description Ours: the assignments_tag the device knows; they are then not repeated */
                known_assignments?: string;
            };
            header?: never;
            path: {
                device_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    status?: "active" | "inactive";
                    metrics?: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "active" | "inactive";
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        last_heartbeat: string;
                        /** Format: uuid */
                        pending_round_id?: string;
                        /** @description Ours: what the device is to run; absent when nothing, or as it knows */
                        assignments?: {
                            /** Format: uuid */
                            plan_id: string;
                            /** @enum {string} */
                            kind: "rollout" | "deployment" | "experiment";
                            model_id: string | null;
                            model_name: string | null;
                            /** @description To be named in reports */
                            version: string;
                            version_number: number | null;
                            format: string | null;
                            model_size_bytes: number | null;
                            model_hash: string | null;
                            download_path: string | null;
                            /** @description False: fetch and verify it, report ready, and go on with what runs now */
                            activate: boolean;
                            /** @description The experiment's variant */
                            variant?: string;
                        }[];
                        /** @description Ours: equal while the assignments are; 'none' of no assignments */
                        assignments_tag?: string;
                        message: string;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listAssignments: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                device_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        device_id: string;
                        assignments: {
                            /** Format: uuid */
                            plan_id: string;
                            /** @enum {string} */
                            kind: "rollout" | "deployment" | "experiment";
                            model_id: string | null;
                            model_name: string | null;
                            /** @description To be named in reports */
                            version: string;
                            version_number: number | null;
                            format: string | null;
                            model_size_bytes: number | null;
                            model_hash: string | null;
                            download_path: string | null;
                            /** @description False: fetch and verify it, report ready, and go on with what runs now */
                            activate: boolean;
                            /** @description The experiment's variant */
                            variant?: string;
                        }[];
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    reportAssignment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                device_id: string;
                plan_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    state: "downloading" | "verifying" | "ready" | "active" | "failed";
                    version: string;
                    reason?: string;
                    /** @description What the device measured with this version, e.g. accuracy and loss */
                    metrics?: {
                        [key: string]: number;
                    };
                };
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        plan_id: string;
                        device_id: string;
                        /** @enum {string} */
                        state: "downloading" | "verifying" | "ready" | "active" | "failed";
                        version: string;
                        reason: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        reported_at: string;
                        /** @description Whether the plan still assigns this version to the device */
                        current: boolean;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listActiveRollouts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        rollouts: {
                            /** Format: uuid */
                            rollout_id: string;
                            /** Format: uuid */
                            model_id: string;
                            org_id: string | null;
                            version: string;
                            /** @enum {string} */
                            status: "pending" | "active" | "paused" | "completed" | "rolled_back";
                            percentage: number;
                            initial_percentage: number;
                            target_percentage: number;
                            increment_step: number;
                            step_interval_minutes: number;
                            group_id: string | null;
                            auto_rollback: boolean;
                            reason: string | null;
                            next_step_at: string | null;
                            /**
                             * Format: date-time
                             * @description ISO 8601, UTC
                             */
                            created_at: string;
                            started_at: string | null;
                            ended_at: string | null;
                            /**
                             * Format: date-time
                             * @description ISO 8601, UTC
                             */
                            updated_at: string;
                        }[];
                    };
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listRollouts: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
            };
            header?: never;
            path: {
                /** @description A model id, or a model name */
                model_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        rollouts: {
                            /** Format: uuid */
                            rollout_id: string;
                            /** Format: uuid */
                            model_id: string;
                            org_id: string | null;
                            version: string;
                            /** @enum {string} */
                            status: "pending" | "active" | "paused" | "completed" | "rolled_back";
                            percentage: number;
                            initial_percentage: number;
                            target_percentage: number;
                            increment_step: number;
                            step_interval_minutes: number;
                            group_id: string | null;
                            auto_rollback: boolean;
                            reason: string | null;
                            next_step_at: string | null;
                            /**
                             * Format: date-time
                             * @description ISO 8601, UTC
                             */
                            created_at: string;
                            started_at: string | null;
                            ended_at: string | null;
                            /**
                             * Format: date-time
                             * @description ISO 8601, UTC
                             */
                            updated_at: string;
                        }[];
                        total: number;
                        limit: number;
                        offset: number;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    createRollout: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A model id, or a model name */
                model_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description A version of the model; one that is not uploaded yet is taken with a warning */
                    version: string;
                    /** @description The first step */
                    rollout_percentage: number;
                    /** @description 100 when absent */
                    target_percentage?: number;
                    /** @description 10 when absent */
                    increment_step?: number;
                    /** @description true when absent */
                    start_immediately?: boolean;
                    /** @description Ours: 60 when absent; fractions down to a second are fine */
                    step_interval_minutes?: number;
                    /** @description Ours: only the devices of this group (id or name) */
                    group?: string;
                    /** @description Ours: too many failures roll it back instead of pausing it; false when absent */
                    auto_rollback?: boolean;
                };
            };
        };
        responses: {
            /** @description Default Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        rollout_id: string;
                        /** Format: uuid */
                        model_id: string;
                        org_id: string | null;
                        version: string;
                        /** @enum {string} */
                        status: "pending" | "active" | "paused" | "completed" | "rolled_back";
                        percentage: number;
                        initial_percentage: number;
                        target_percentage: number;
                        increment_step: number;
                        step_interval_minutes: number;
                        group_id: string | null;
                        auto_rollback: boolean;
                        reason: string | null;
                        next_step_at: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        started_at: string | null;
                        ended_at: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        updated_at: string;
                        model_name: string | null;
                        /** @description How many devices last reported each state */
                        reports: {
                            downloading: number;
                            verifying: number;
                            ready: number;
                            active: number;
                            failed: number;
                        };
                        warnings: string[];
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    foreseeRollout: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A model id, or a model name */
                model_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description A version of the model; one that is not uploaded yet is taken with a warning */
                    version: string;
                    /** @description The first step */
                    rollout_percentage: number;
                    /** @description 100 when absent */
                    target_percentage?: number;
                    /** @description 10 when absent */
                    increment_step?: number;
                    /** @description true when absent */
                    start_immediately?: boolean;
                    /** @description Ours: 60 when absent; fractions down to a second are fine */
                    step_interval_minutes?: number;
                    /** @description Ours: only the devices of this group (id or name) */
                    group?: string;
                    /** @description Ours: too many failures roll it back instead of pausing it; false when absent */
                    auto_rollback?: boolean;
                };
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        model_id: string;
                        version: string;
                        target_devices: number;
                        steps: {
                            after_minutes: number;
                            percentage: number;
                            devices: number;
                        }[];
                        minutes_to_target: number;
                        warnings: string[];
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getRollout: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A model id, or a model name */
                model_id: string;
                rollout_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        rollout_id: string;
                        /** Format: uuid */
                        model_id: string;
                        org_id: string | null;
                        version: string;
                        /** @enum {string} */
                        status: "pending" | "active" | "paused" | "completed" | "rolled_back";
                        percentage: number;
                        initial_percentage: number;
                        target_percentage: number;
                        increment_step: number;
                        step_interval_minutes: number;
                        group_id: string | null;
                        auto_rollback: boolean;
                        reason: string | null;
                        next_step_at: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        started_at: string | null;
                        ended_at: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        updated_at: string;
                        model_name: string | null;
                        /** @description How many devices last reported each state */
                        reports: {
                            downloading: number;
                            verifying: number;
                            ready: number;
                            active: number;
                            failed: number;
                        };
                        warnings: string[];
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteRollout: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A model id, or a model name */
                model_id: string;
                rollout_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        rollout_id: string;
                        deleted: boolean;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getRolloutHistory: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
            };
            header?: never;
            path: {
                /** @description A model id, or a model name */
                model_id: string;
                rollout_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        events: {
                            /**
                             * Format: date-time
                             * @description ISO 8601, UTC
                             */
                            at: string;
                            event: string;
                            /** @description After the event */
                            status: string;
                            percentage: number | null;
                            reason: string | null;
                            actor: string | null;
                        }[];
                        total: number;
                        limit: number;
                        offset: number;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listRolloutDevices: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
            };
            header?: never;
            path: {
                /** @description A model id, or a model name */
                model_id: string;
                rollout_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        devices: {
                            device_id: string;
                            /**
                             * @description assigned: it has not said anything yet
                             * @enum {string}
                             */
                            state: "assigned" | "downloading" | "verifying" | "ready" | "active" | "failed";
                            version: string | null;
                            reason: string | null;
                            reported_at: string | null;
                            /** @description Whether the rollout gives the device its version now */
                            current: boolean;
                        }[];
                        total: number;
                        limit: number;
                        offset: number;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    startRollout: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A model id, or a model name */
                model_id: string;
                rollout_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    reason?: string;
                };
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        rollout_id: string;
                        /** Format: uuid */
                        model_id: string;
                        org_id: string | null;
                        version: string;
                        /** @enum {string} */
                        status: "pending" | "active" | "paused" | "completed" | "rolled_back";
                        percentage: number;
                        initial_percentage: number;
                        target_percentage: number;
                        increment_step: number;
                        step_interval_minutes: number;
                        group_id: string | null;
                        auto_rollback: boolean;
                        reason: string | null;
                        next_step_at: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        started_at: string | null;
                        ended_at: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        updated_at: string;
                        model_name: string | null;
                        /** @description How many devices last reported each state */
                        reports: {
                            downloading: number;
                            verifying: number;
                            ready: number;
                            active: number;
                            failed: number;
                        };
                        warnings: string[];
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource already exists, or its state does not allow this */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    pauseRollout: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A model id, or a model name */
                model_id: string;
                rollout_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    reason?: string;
                };
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        rollout_id: string;
                        /** Format: uuid */
                        model_id: string;
                        org_id: string | null;
                        version: string;
                        /** @enum {string} */
                        status: "pending" | "active" | "paused" | "completed" | "rolled_back";
                        percentage: number;
                        initial_percentage: number;
                        target_percentage: number;
                        increment_step: number;
                        step_interval_minutes: number;
                        group_id: string | null;
                        auto_rollback: boolean;
                        reason: string | null;
                        next_step_at: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        started_at: string | null;
                        ended_at: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        updated_at: string;
                        model_name: string | null;
                        /** @description How many devices last reported each state */
                        reports: {
                            downloading: number;
                            verifying: number;
                            ready: number;
                            active: number;
                            failed: number;
                        };
                        warnings: string[];
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource already exists, or its state does not allow this */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    resumeRollout: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A model id, or a model name */
                model_id: string;
                rollout_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    reason?: string;
                };
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        rollout_id: string;
                        /** Format: uuid */
                        model_id: string;
                        org_id: string | null;
                        version: string;
                        /** @enum {string} */
                        status: "pending" | "active" | "paused" | "completed" | "rolled_back";
                        percentage: number;
                        initial_percentage: number;
                        target_percentage: number;
                        increment_step: number;
                        step_interval_minutes: number;
                        group_id: string | null;
                        auto_rollback: boolean;
                        reason: string | null;
                        next_step_at: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        started_at: string | null;
                        ended_at: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        updated_at: string;
                        model_name: string | null;
                        /** @description How many devices last reported each state */
                        reports: {
                            downloading: number;
                            verifying: number;
                            ready: number;
                            active: number;
                            failed: number;
                        };
                        warnings: string[];
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource already exists, or its state does not allow this */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    advanceRollout: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A model id, or a model name */
                model_id: string;
                rollout_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    reason?: string;
                };
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        rollout_id: string;
                        /** Format: uuid */
                        model_id: string;
                        org_id: string | null;
                        version: string;
                        /** @enum {string} */
                        status: "pending" | "active" | "paused" | "completed" | "rolled_back";
                        percentage: number;
                        initial_percentage: number;
                        target_percentage: number;
                        increment_step: number;
                        step_interval_minutes: number;
                        group_id: string | null;
                        auto_rollback: boolean;
                        reason: string | null;
                        next_step_at: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        started_at: string | null;
                        ended_at: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        updated_at: string;
                        model_name: string | null;
                        /** @description How many devices last reported each state */
                        reports: {
                            downloading: number;
                            verifying: number;
                            ready: number;
                            active: number;
                            failed: number;
                        };
                        warnings: string[];
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource already exists, or its state does not allow this */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    rollbackRollout: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A model id, or a model name */
                model_id: string;
                rollout_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    reason?: string;
                };
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        rollout_id: string;
                        /** Format: uuid */
                        model_id: string;
                        org_id: string | null;
                        version: string;
                        /** @enum {string} */
                        status: "pending" | "active" | "paused" | "completed" | "rolled_back";
                        percentage: number;
                        initial_percentage: number;
                        target_percentage: number;
                        increment_step: number;
                        step_interval_minutes: number;
                        group_id: string | null;
                        auto_rollback: boolean;
                        reason: string | null;
                        next_step_at: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        started_at: string | null;
                        ended_at: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        updated_at: string;
                        model_name: string | null;
                        /** @description How many devices last reported each state */
                        reports: {
                            downloading: number;
                            verifying: number;
                            ready: number;
                            active: number;
                            failed: number;
                        };
                        warnings: string[];
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource already exists, or its state does not allow this */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    setRolloutPercentage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A model id, or a model name */
                model_id: string;
                rollout_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Above the target, it becomes the target */
                    percentage: number;
                };
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        rollout_id: string;
                        /** Format: uuid */
                        model_id: string;
                        org_id: string | null;
                        version: string;
                        /** @enum {string} */
                        status: "pending" | "active" | "paused" | "completed" | "rolled_back";
                        percentage: number;
                        initial_percentage: number;
                        target_percentage: number;
                        increment_step: number;
                        step_interval_minutes: number;
                        group_id: string | null;
                        auto_rollback: boolean;
                        reason: string | null;
                        next_step_at: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        started_at: string | null;
                        ended_at: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        updated_at: string;
                        model_name: string | null;
                        /** @description How many devices last reported each state */
                        reports: {
                            downloading: number;
                            verifying: number;
                            ready: number;
                            active: number;
                            failed: number;
                        };
                        warnings: string[];
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource already exists, or its state does not allow this */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    startRound: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    target_devices: number;
                    min_devices: number;
                    timeout_seconds?: number;
                    /** @description Id or name; the latest aggregated model when absent */
                    global_model_id?: string;
                    /** @description Ours: for keys bound to no org */
                    org_id?: string;
                    /** @description Ours: handed to the devices with the plan, e.g. local_epochs, batch_size, learning_rate */
                    hyperparameters?: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        responses: {
            /** @description Default Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        id: string;
                        org_id: string | null;
                        round_number: number;
                        /** @enum {string} */
                        status: "pending" | "active" | "aggregating" | "completed" | "failed";
                        target_devices: number;
                        min_devices: number;
                        participated_devices: number;
                        completed_devices: number;
                        failed_devices: number;
                        global_model_id: string | null;
                        global_model_path: string | null;
                        aggregated_model_id: string | null;
                        aggregated_model_path: string | null;
                        failure_reason: string | null;
                        started_at: string | null;
                        completed_at: string | null;
                        timeout_at: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource already exists, or its state does not allow this */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getCurrentRound: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        id: string;
                        org_id: string | null;
                        round_number: number;
                        /** @enum {string} */
                        status: "pending" | "active" | "aggregating" | "completed" | "failed";
                        target_devices: number;
                        min_devices: number;
                        participated_devices: number;
                        completed_devices: number;
                        failed_devices: number;
                        global_model_id: string | null;
                        global_model_path: string | null;
                        aggregated_model_id: string | null;
                        aggregated_model_path: string | null;
                        failure_reason: string | null;
                        started_at: string | null;
                        completed_at: string | null;
                        timeout_at: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                    };
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listRounds: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        rounds: {
                            /** Format: uuid */
                            id: string;
                            org_id: string | null;
                            round_number: number;
                            /** @enum {string} */
                            status: "pending" | "active" | "aggregating" | "completed" | "failed";
                            target_devices: number;
                            min_devices: number;
                            participated_devices: number;
                            completed_devices: number;
                            failed_devices: number;
                            global_model_id: string | null;
                            global_model_path: string | null;
                            aggregated_model_id: string | null;
                            aggregated_model_path: string | null;
                            failure_reason: string | null;
                            started_at: string | null;
                            completed_at: string | null;
                            timeout_at: string | null;
                            /**
                             * Format: date-time
                             * @description ISO 8601, UTC
                             */
                            created_at: string;
                        }[];
                        total: number;
                        limit: number;
                        offset: number;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getRoundStatus: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                round_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        id: string;
                        org_id: string | null;
                        round_number: number;
                        /** @enum {string} */
                        status: "pending" | "active" | "aggregating" | "completed" | "failed";
                        target_devices: number;
                        min_devices: number;
                        participated_devices: number;
                        completed_devices: number;
                        failed_devices: number;
                        global_model_id: string | null;
                        global_model_path: string | null;
                        aggregated_model_id: string | null;
                        aggregated_model_path: string | null;
                        failure_reason: string | null;
                        started_at: string | null;
                        completed_at: string | null;
                        timeout_at: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getRoundPlan: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                round_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        round_id: string;
                        round_number: number;
                        /** @enum {string} */
                        strategy: "fedavg";
                        hyperparameters: {
                            [key: string]: unknown;
                        };
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        timeout_at: string;
                        model: {
                            /** Format: uuid */
                            model_id: string;
                            version: number;
                            format: string;
                            model_size_bytes: number;
                            model_hash: string;
                        } | null;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    downloadRoundModel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                round_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    explainSelection: {
        parameters: {
            query?: {
                /** @description The device asked about; the one that owns the key when absent */
                device_id?: string;
            };
            header?: never;
            path: {
                round_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        round_id: string;
                        device_id: string;
                        selected: boolean;
                        state: ("selected" | "delivered" | "failed") | null;
                        reason: string;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getReceipt: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                round_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        round_id: string;
                        strategy: string;
                        kernel: {
                            name: string;
                            version: string;
                        };
                        order: string;
                        global_model_sha256: string | null;
                        updates: {
                            device_id: string;
                            /** Format: uuid */
                            update_id: string;
                            sha256: string;
                            num_samples: number;
                            weight: number;
                        }[];
                        output_sha256: string;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource already exists, or its state does not allow this */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    replayReceipt: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                round_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        round_id: string;
                        matches: boolean;
                        expected_sha256: string;
                        replayed_sha256: string;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource already exists, or its state does not allow this */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        keys: {
                            /** Format: uuid */
                            id: string;
                            name: string;
                            /** @description The first characters, to recognise the key by */
                            prefix: string;
                            scopes: string[];
                            org_id: string | null;
                            /**
                             * Format: date-time
                             * @description ISO 8601, UTC
                             */
                            created_at: string;
                            expires_at: string | null;
                            revoked_at: string | null;
                            last_used_at: string | null;
                        }[];
                    };
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    createKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    name: string;
                    scopes?: ("devices:read" | "devices:write" | "models:read" | "models:write" | "training:read" | "training:write" | "admin")[];
                    /** @description For keys bound to no org */
                    org_id?: string;
                    expires_in_days?: number;
                };
            };
        };
        responses: {
            /** @description Default Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        id: string;
                        name: string;
                        /** @description The first characters, to recognise the key by */
                        prefix: string;
                        scopes: string[];
                        org_id: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        expires_at: string | null;
                        revoked_at: string | null;
                        last_used_at: string | null;
                        /** @description Shown this once; cannot be retrieved later */
                        api_key: string;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOwnKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        id: string;
                        name: string;
                        /** @description The first characters, to recognise the key by */
                        prefix: string;
                        scopes: string[];
                        org_id: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        expires_at: string | null;
                        revoked_at: string | null;
                        last_used_at: string | null;
                    };
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    revokeKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        id: string;
                        name: string;
                        /** @description The first characters, to recognise the key by */
                        prefix: string;
                        scopes: string[];
                        org_id: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        expires_at: string | null;
                        revoked_at: string | null;
                        last_used_at: string | null;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    createOrg: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    name: string;
                    /** @enum {string} */
                    compliance?: "hipaa" | "gdpr" | "pci" | "soc2";
                    /** @enum {string} */
                    region?: "us" | "eu" | "ap";
                };
            };
        };
        responses: {
            /** @description Default Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                        name: string;
                        compliance: ("hipaa" | "gdpr" | "pci" | "soc2") | null;
                        /** @enum {string} */
                        region: "us" | "eu" | "ap";
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource already exists, or its state does not allow this */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOrg: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                        name: string;
                        compliance: ("hipaa" | "gdpr" | "pci" | "soc2") | null;
                        /** @enum {string} */
                        region: "us" | "eu" | "ap";
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    authorizeLogin: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    code_challenge: string;
                    redirect_uri: string;
                    state: string;
                };
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        redirect_to: string;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    exchangeLoginCode: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    code: string;
                    code_verifier: string;
                };
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        api_key: string;
                        org_id: string | null;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listModels: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
                framework?: "pytorch" | "tensorflow" | "xgboost" | "sklearn";
                is_baseline?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        models: {
                            /** Format: uuid */
                            id: string;
                            org_id: string | null;
                            name: string | null;
                            round_id: string | null;
                            model_path: string | null;
                            model_size_bytes: number | null;
                            model_hash: string | null;
                            /** @enum {string} */
                            framework: "pytorch" | "tensorflow" | "xgboost" | "sklearn";
                            framework_version: string;
                            accuracy: number | null;
                            loss: number | null;
                            is_baseline: boolean;
                            description: string;
                            /**
                             * Format: date-time
                             * @description ISO 8601, UTC
                             */
                            created_at: string;
                        }[];
                        total: number;
                        limit: number;
                        offset: number;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    createModel: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Ours: unique in the organisation, usable as model_id */
                    name?: string;
                    /** @enum {string} */
                    framework?: "pytorch" | "tensorflow" | "xgboost" | "sklearn";
                    framework_version?: string;
                    description?: string;
                    is_baseline?: boolean;
                };
            };
        };
        responses: {
            /** @description Default Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        id: string;
                        org_id: string | null;
                        name: string | null;
                        round_id: string | null;
                        model_path: string | null;
                        model_size_bytes: number | null;
                        model_hash: string | null;
                        /** @enum {string} */
                        framework: "pytorch" | "tensorflow" | "xgboost" | "sklearn";
                        framework_version: string;
                        accuracy: number | null;
                        loss: number | null;
                        is_baseline: boolean;
                        description: string;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource already exists, or its state does not allow this */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getModel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A model id, or a model name */
                model_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        id: string;
                        org_id: string | null;
                        name: string | null;
                        round_id: string | null;
                        model_path: string | null;
                        model_size_bytes: number | null;
                        model_hash: string | null;
                        /** @enum {string} */
                        framework: "pytorch" | "tensorflow" | "xgboost" | "sklearn";
                        framework_version: string;
                        accuracy: number | null;
                        loss: number | null;
                        is_baseline: boolean;
                        description: string;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        versions: {
                            version: number;
                            version_label: string;
                            /** @enum {string} */
                            format: "pytorch" | "tensorflow" | "onnx" | "sklearn" | "xgboost";
                            model_size_bytes: number;
                            model_hash: string;
                            /**
                             * Format: date-time
                             * @description ISO 8601, UTC
                             */
                            uploaded_at: string;
                        }[];
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    uploadVersion: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A model id, or a model name */
                model_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": {
                    /** Format: binary */
                    file: string;
                    /** @enum {string} */
                    format?: "pytorch" | "tensorflow" | "onnx" | "sklearn" | "xgboost";
                    description?: string;
                    /** @description Ours: semantic version; n.0.0 when absent */
                    version_label?: string;
                };
            };
        };
        responses: {
            /** @description Default Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        model_id: string;
                        version: number;
                        version_label: string;
                        /** @enum {string} */
                        format: "pytorch" | "tensorflow" | "onnx" | "sklearn" | "xgboost";
                        model_path: string;
                        model_size_bytes: number;
                        model_hash: string;
                        description: string;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        uploaded_at: string;
                        warnings: string[];
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource already exists, or its state does not allow this */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    downloadVersion: {
        parameters: {
            query?: {
                format?: "pytorch" | "onnx" | "tflite" | "coreml";
            };
            header?: never;
            path: {
                model_id: string;
                /** @description An integer from 1, a semantic version, or latest */
                version: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    submitUpdate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                round_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": {
                    /** Format: binary */
                    file: string;
                    num_samples: number;
                    local_loss?: number;
                    local_accuracy?: number;
                    training_time_seconds?: number;
                };
            };
        };
        responses: {
            /** @description Default Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        id: string;
                        /** Format: uuid */
                        round_id: string;
                        /** Format: uuid */
                        device_id: string;
                        model_path: string;
                        model_size_bytes: number;
                        model_hash: string;
                        num_samples: number;
                        local_loss: number | null;
                        local_accuracy: number | null;
                        training_time_seconds: number | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource already exists, or its state does not allow this */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    reportFailure: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                round_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    reason: string;
                };
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        id: string;
                        org_id: string | null;
                        round_number: number;
                        /** @enum {string} */
                        status: "pending" | "active" | "aggregating" | "completed" | "failed";
                        target_devices: number;
                        min_devices: number;
                        participated_devices: number;
                        completed_devices: number;
                        failed_devices: number;
                        global_model_id: string | null;
                        global_model_path: string | null;
                        aggregated_model_id: string | null;
                        aggregated_model_path: string | null;
                        failure_reason: string | null;
                        started_at: string | null;
                        completed_at: string | null;
                        timeout_at: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                    };
                };
            };
            /** @description Invalid or missing request fields */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key may not do this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The resource already exists, or its state does not allow this */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests; the header Retry-After gives seconds */
            429: {
                headers: {
                    /** @description Seconds until another request fits */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unexpected server error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
}
