// Generated from openapi.json by `npm run gen`. Do not edit.
export interface paths {
    "/api/v1/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List keys
         * @description List keys, newest first.
         */
        get: operations["listKeys"];
        put?: never;
        /**
         * Create an API key
         * @description Make an API key; it is in this answer and nowhere else.
         */
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
        /**
         * Get the key of this request
         * @description What the key of this request is and may do.
         */
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
        /** Revoke a key and the keys it approved */
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
        /**
         * Create an organization
         * @description Create an organization, to which keys and devices can then be bound.
         */
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
        /** Get an organization */
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
        /**
         * Approve a command-line sign-in
         * @description Approve a browser login of the command line.
         */
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
        /** Exchange a sign-in code for a key */
        post: operations["exchangeLoginCode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/benchmarks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List shared benchmark results */
        get: operations["listBenchmarks"];
        put?: never;
        /**
         * Share an anonymous benchmark result
         * @description Share what a model reached on some machine; kept without saying whose it was.
         */
        post: operations["shareBenchmark"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/uploads/{sha256}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        /**
         * Get the number of bytes received of an upload
         * @description How much of a file has arrived; 0 when nothing has. It is kept for 24 h after the last piece.
         */
        head: operations["getUploadOffset-head"];
        /**
         * Append to an upload
         * @description Send the rest of a file, or a piece of it; uploadVersion makes a version of it by its sha256.
         */
        patch: operations["appendToUpload"];
        trace?: never;
    };
    "/api/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List models
         * @description List the catalog, newest first.
         */
        get: operations["listModels"];
        put?: never;
        /**
         * Create a model
         * @description Add a model to the catalog; its weights are uploaded as versions.
         */
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
        /** Get a model with its versions */
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
        /**
         * Upload the next version of a model
         * @description Upload weights as the next version of a model. Or make one of a finished upload.
         */
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
        /**
         * Download a version's file
         * @description The weights of a version; supports Range, If-None-Match and HEAD.
         */
        get: operations["downloadVersion"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/federations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List federations
         * @description List federations, newest first.
         */
        get: operations["listFederations"];
        put?: never;
        /**
         * Create a federation
         * @description Found a federation; the organization named owns it.
         */
        post: operations["createFederation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/federations/{federation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a federation
         * @description One federation; its members and those invited may see it.
         */
        get: operations["getFederation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/federations/{federation_id}/invite": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Invite organizations to a federation
         * @description Invite organizations; inviting twice is harmless.
         */
        post: operations["inviteToFederation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/federations/{federation_id}/join": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Join a federation
         * @description Take up an invitation; a key that is bound to no organization needs none.
         */
        post: operations["joinFederation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/federations/{federation_id}/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List members with their contributions
         * @description Members, with what their devices contributed to completed rounds.
         */
        get: operations["listFederationMembers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/federations/{federation_id}/members/{org_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Leave a federation or remove a member
         * @description Leave, or remove a member; also declines or withdraws an invitation.
         */
        delete: operations["removeFederationMember"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/federations/{federation_id}/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List models shared with a federation
         * @description Models that members may read, the latest shared first.
         */
        get: operations["listSharedModels"];
        put?: never;
        /**
         * Share a model with a federation
         * @description Let all active members read a model; only the owner may share.
         */
        post: operations["shareModel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/federations/{federation_id}/models/{model_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Stop sharing a model
         * @description Share a model no longer, by its id.
         */
        delete: operations["unshareModel"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/federations/{federation_id}/privacy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the privacy budget
         * @description The privacy budget, and what of it is spent.
         */
        get: operations["getPrivacyBudget"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/federations/{federation_id}/privacy/budget": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Set the privacy budget
         * @description Set the budget; only the owner may.
         */
        put: operations["setPrivacyBudget"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/federations/{federation_id}/privacy/estimate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Estimate the privacy cost of a round */
        get: operations["estimatePrivacyCost"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/federations/{federation_id}/privacy/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the privacy spent per round
         * @description Every private round, in the order in which it was spent; rounds in progress last.
         */
        get: operations["listPrivacyHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/federations/{federation_id}/privacy/noise-for-epsilon": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the least noise that fits an epsilon
         * @description The least noise with which so many steps still fit an epsilon.
         */
        get: operations["noiseForEpsilon"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/federations/{federation_id}/privacy/rounds-left": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the number of private rounds left */
        get: operations["privateRoundsLeft"];
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
        /**
         * Register a device
         * @description Register a device; its API key is in this answer and nowhere else.
         */
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
        /**
         * List devices
         * @description List the devices of an organization, oldest first.
         */
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
        /**
         * Get a device
         * @description One device, by its user-chosen id.
         */
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
        /**
         * List device groups
         * @description List the device groups of an organization, oldest first.
         */
        get: operations["listGroups"];
        put?: never;
        /**
         * Create a device group
         * @description Create a device group, without devices.
         */
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
        /** Get a device group */
        get: operations["getGroup"];
        /**
         * Update a device group
         * @description Change the name, description or tags; what is left out stays as it is.
         */
        put: operations["updateGroup"];
        post?: never;
        /**
         * Delete a device group
         * @description Delete a device group; its devices stay registered.
         */
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
        /**
         * List the devices of a group
         * @description The devices of a group, in the order in which they were added.
         */
        get: operations["listGroupDevices"];
        put?: never;
        /** Add devices to a group */
        post: operations["addGroupDevices"];
        /** Remove devices from a group */
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
        /**
         * Add a device to a group
         * @description Add one device; one that is in the group already is skipped.
         */
        post: operations["addGroupDevice"];
        /**
         * Remove a device from a group
         * @description Remove one device; one that is not in the group is skipped.
         */
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
        /**
         * Send a heartbeat
         * @description A sign of life, with metrics; the answer tells of a round that awaits the device, and what to run.
         */
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
        /**
         * List a device's assignments
         * @description What a device is to run, at most one version of each model. Unchanged (If-None-Match) is 304.
         */
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
        /**
         * Report the state of an assignment
         * @description How far a device has come with what a plan gave it. Saying it twice is saying it once.
         */
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
        /**
         * List active rollouts
         * @description The rollouts under way, newest first.
         */
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
        /**
         * List a model's rollouts
         * @description A model's rollouts in every state, newest first.
         */
        get: operations["listRollouts"];
        put?: never;
        /**
         * Create a rollout
         * @description Bring a version to a growing part of the fleet, for as long as health holds.
         */
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
        /**
         * Preview a rollout's schedule
         * @description How a rollout would go if health held; creates nothing.
         */
        post: operations["previewRollout"];
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
        /**
         * Get a rollout
         * @description One rollout, with what its devices reported.
         */
        get: operations["getRollout"];
        put?: never;
        post?: never;
        /**
         * Cancel and delete a rollout
         * @description Cancel and delete a rollout: its devices get what they got before.
         */
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
        /**
         * List the events of a rollout
         * @description Everything that happened to a rollout, oldest first.
         */
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
        /**
         * List the devices of a rollout
         * @description The devices that a rollout reaches or has reached, with what they reported.
         */
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
        /** Start a pending rollout */
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
        /** Pause a rollout */
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
        /** Resume a rollout */
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
        /** Advance a rollout by one step */
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
        /** Roll back a rollout */
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
        /**
         * Set the percentage of a rollout
         * @description Set how much of the fleet it reaches; lowering it takes devices out again.
         */
        put: operations["setRolloutPercentage"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/deploy/prepare": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Validate a deployment without executing it */
        post: operations["prepareDeployment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/deploy/execute": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Deploy a version
         * @description Bring a version to devices, a group or the whole active fleet.
         */
        post: operations["executeDeployment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/deployments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List deployments
         * @description Deployments in every state, newest first.
         */
        get: operations["listDeployments"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/deployments/{deployment_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a deployment
         * @description One deployment, with how many devices are in each state.
         */
        get: operations["getDeployment"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/deployments/{deployment_id}/devices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the devices of a deployment
         * @description Its targets in the order of their names, with what each reported.
         */
        get: operations["listDeploymentDevices"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/deployments/{deployment_id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the events of a deployment
         * @description Everything that happened to a deployment, oldest first.
         */
        get: operations["getDeploymentHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/deployments/{deployment_id}/rollback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Roll back a deployment
         * @description Give every device what it got before.
         */
        post: operations["rollbackDeployment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/deployments/{deployment_id}/promote": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Activate more targets of a deployment */
        post: operations["promoteDeployment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/experiments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List experiments
         * @description List experiments, newest first.
         */
        get: operations["listExperiments"];
        put?: never;
        /** Create an experiment */
        post: operations["createExperiment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/experiments/{experiment_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get an experiment */
        get: operations["getExperiment"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/experiments/{experiment_id}/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start an experiment
         * @description Give the devices of the target groups their variants.
         */
        post: operations["startExperiment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/experiments/{experiment_id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Pause an experiment */
        post: operations["pauseExperiment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/experiments/{experiment_id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Resume an experiment */
        post: operations["resumeExperiment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/experiments/{experiment_id}/complete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Complete an experiment */
        post: operations["completeExperiment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/experiments/{experiment_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel an experiment */
        post: operations["cancelExperiment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/experiments/{experiment_id}/assignment": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a device's variant
         * @description A device's variant, the same for as long as the experiment exists.
         */
        get: operations["getExperimentAssignment"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/experiments/{experiment_id}/observations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add observations to an experiment
         * @description What devices measured with their variants; one observation, or up to 1,000.
         */
        post: operations["addObservations"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/experiments/{experiment_id}/analytics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Compare the variants of an experiment
         * @description What the variants measured, and whether they differ.
         */
        get: operations["getExperimentAnalytics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/pairings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a pairing code
         * @description A code that pairs one device within five minutes, and what the device then gets.
         */
        post: operations["createPairing"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/pairings/{pairing_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a pairing
         * @description A pairing, from waiting for its device to the model being active there.
         */
        get: operations["getPairing"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/pairings/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Claim a pairing code
         * @description A device takes a code; with the device's own key, or it is registered and gets one.
         */
        post: operations["claimPairing"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/models/{model_id}/policy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a model's policy */
        get: operations["getPolicy"];
        /**
         * Set a model's policy
         * @description What a finished round learned is tried on a canary, and promoted or rolled back by itself.
         */
        put: operations["setPolicy"];
        post?: never;
        /**
         * Delete a model's policy
         * @description Delete it with its decisions; a canary under way stays as it is.
         */
        delete: operations["deletePolicy"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/models/{model_id}/policy/decisions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the decisions of a policy
         * @description What the policy decided and why, newest first.
         */
        get: operations["listDecisions"];
        put?: never;
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
        /**
         * Start a training round
         * @description Start a training round: devices are drawn, and the global model is theirs to fetch.
         */
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
        /**
         * Get the latest round
         * @description The round with the highest number, whatever its status.
         */
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
        /**
         * List rounds
         * @description All rounds, newest first.
         */
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
        /** Get a round */
        get: operations["getRoundStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training/rounds/{round_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a round
         * @description Ends the round at once, as failed. Its job, where it has one, goes on with another round.
         */
        post: operations["cancelRound"];
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
        /**
         * Get a round's training plan
         * @description What a device needs to know to take part.
         */
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
        /** Download a round's global model */
        get: operations["downloadRoundModel"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training/rounds/{round_id}/control": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Download SCAFFOLD's global control variate */
        get: operations["downloadRoundControl"];
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
        /**
         * Explain whether a device was selected
         * @description Whether a device was selected, and why or why not.
         */
        get: operations["explainSelection"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training/rounds/{round_id}/participants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the participants of a round */
        get: operations["listRoundParticipants"];
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
        /** Get the receipt of a completed round */
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
        /**
         * Replay a receipt and compare the bytes
         * @description Add the kept updates up once more and compare the bytes with the receipt.
         */
        post: operations["replayReceipt"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training/rounds/{round_id}/secure": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the state of a secure round
         * @description Where a secure round stands, and what the calling device needs for its next step.
         */
        get: operations["getSecureRound"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training/rounds/{round_id}/secure/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Submit a device's public keys
         * @description Step 1 of a secure round, a device makes its public keys known.
         */
        post: operations["advertiseSecureKeys"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training/rounds/{round_id}/secure/shares": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Submit encrypted shares
         * @description Step 2 of a secure round, a device deals encrypted shares of its secrets to the others.
         */
        post: operations["dealSecureShares"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training/rounds/{round_id}/secure/unmask": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Submit shares for unmasking
         * @description Step 4 of a secure round, a device shows one share of every other, so that the sum can be unmasked.
         */
        post: operations["revealSecureShares"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List training jobs */
        get: operations["listTrainingJobs"];
        put?: never;
        /**
         * Start a training job
         * @description Train a model for a number of rounds, one after another.
         */
        post: operations["startTrainingJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training/jobs/{job_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a training job
         * @description A training job, with loss and accuracy by round.
         */
        get: operations["getTrainingJob"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training/jobs/{job_id}/rounds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the rounds of a training job */
        get: operations["listTrainingJobRounds"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training/jobs/{job_id}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop a training job
         * @description End a job at once, and its round with it.
         */
        post: operations["stopTrainingJob"];
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
        /**
         * List the updates of a round
         * @description What was delivered, in the order of device ids, and how each update looked beside the others.
         */
        get: operations["listUpdates"];
        put?: never;
        /**
         * Submit a model update
         * @description Submit locally trained weights; counts for the device that owns the key.
         */
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
        /**
         * Report a failed participation
         * @description A participant gives up, with a reason; the round stops waiting for it.
         */
        post: operations["reportFailure"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/federations/{federation_id}/analytics/descriptive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Describe a variable by group
         * @description Mean, spread and percentiles of a variable, group by group.
         */
        post: operations["describeVariable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/federations/{federation_id}/analytics/t-test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Compare two groups by Welch's t-test */
        post: operations["compareTwoGroups"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/federations/{federation_id}/analytics/anova": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Compare groups by analysis of variance
         * @description One-way analysis of variance, with Tukey's test of the pairs.
         */
        post: operations["compareGroups"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/federations/{federation_id}/analytics/chi-square": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Test two variables for independence
         * @description Pearson's chi-square test of whether two variables are independent.
         */
        post: operations["testIndependence"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/federations/{federation_id}/analytics/queries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List analytics queries
         * @description Queries that were made, newest first.
         */
        get: operations["listAnalyticsQueries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/federations/{federation_id}/analytics/queries/{query_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get an analytics query */
        get: operations["getAnalyticsQuery"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check health
         * @description Whether the service answers.
         */
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
        /**
         * Get the status of the service
         * @description Devices, models and the latest round in figures.
         */
        get: operations["getStatus"];
        put?: never;
        post?: never;
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
            error: "bad_request" | "unauthorized" | "forbidden" | "not_found" | "conflict" | "expectation_failed" | "rate_limited" | "internal_error" | "insufficient_storage";
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
    listKeys: {
        parameters: {
            query?: {
                /** @description The keys of devices, instead of those of people and programs */
                devices?: boolean;
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
                        keys: {
                            /** Format: uuid */
                            id: string;
                            name: string;
                            /** @description The first characters, to recognize the key by */
                            prefix: string;
                            scopes: string[];
                            org_id: string | null;
                            device_id: string | null;
                            /**
                             * Format: date-time
                             * @description ISO 8601, UTC
                             */
                            created_at: string;
                            expires_at: string | null;
                            revoked_at: string | null;
                            last_used_at: string | null;
                            approved_by: string | null;
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
                    scopes?: ("devices:read" | "devices:write" | "models:read" | "models:write" | "training:read" | "training:write" | "metrics:read" | "admin")[];
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
                        /** @description The first characters, to recognize the key by */
                        prefix: string;
                        scopes: string[];
                        org_id: string | null;
                        device_id: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        expires_at: string | null;
                        revoked_at: string | null;
                        last_used_at: string | null;
                        approved_by: string | null;
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
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
                        /** @description The first characters, to recognize the key by */
                        prefix: string;
                        scopes: string[];
                        org_id: string | null;
                        device_id: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        expires_at: string | null;
                        revoked_at: string | null;
                        last_used_at: string | null;
                        approved_by: string | null;
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
                        /** @description The first characters, to recognize the key by */
                        prefix: string;
                        scopes: string[];
                        org_id: string | null;
                        device_id: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        expires_at: string | null;
                        revoked_at: string | null;
                        last_used_at: string | null;
                        approved_by: string | null;
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listBenchmarks: {
        parameters: {
            query?: {
                engine?: "llama.cpp" | "onnxruntime" | "mlx-lm" | "mlc-llm" | "mnn";
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
                        benchmarks: {
                            /** Format: uuid */
                            id: string;
                            /** @description of the program that measured */
                            svc_version: string;
                            /** @description such as linux */
                            os: string;
                            /** @description such as arm64 */
                            arch: string;
                            /** @description as the processor calls itself */
                            cpu_model: string;
                            cpu_cores: number;
                            /** @description of the machine */
                            memory_gb: number;
                            /** @enum {string} */
                            engine: "llama.cpp" | "onnxruntime" | "mlx-lm" | "mlc-llm" | "mnn";
                            model_architecture: string | null;
                            model_parameters: number | null;
                            model_quantization: string | null;
                            model_megabytes: number;
                            iterations: number;
                            max_tokens: number;
                            first_token_ms_p50: number;
                            first_token_ms_p90: number;
                            first_token_ms_p99: number;
                            tokens_per_second_p50: number;
                            /** @description reached by 90 % of the runs */
                            tokens_per_second_p90: number;
                            tokens_per_second_p99: number;
                            total_ms_p50: number;
                            total_ms_p90: number;
                            total_ms_p99: number;
                            /** @description that the loaded model takes */
                            memory_megabytes: number;
                            /**
                             * Format: date
                             * @description the day, in UTC
                             */
                            reported_on: string;
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
    shareBenchmark: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description of the program that measured */
                    svc_version: string;
                    /** @description such as linux */
                    os: string;
                    /** @description such as arm64 */
                    arch: string;
                    /** @description as the processor calls itself */
                    cpu_model: string;
                    cpu_cores: number;
                    /** @description of the machine */
                    memory_gb: number;
                    /** @enum {string} */
                    engine: "llama.cpp" | "onnxruntime" | "mlx-lm" | "mlc-llm" | "mnn";
                    model_architecture: string | null;
                    model_parameters: number | null;
                    model_quantization: string | null;
                    model_megabytes: number;
                    iterations: number;
                    max_tokens: number;
                    first_token_ms_p50: number;
                    first_token_ms_p90: number;
                    first_token_ms_p99: number;
                    tokens_per_second_p50: number;
                    /** @description reached by 90 % of the runs */
                    tokens_per_second_p90: number;
                    tokens_per_second_p99: number;
                    total_ms_p50: number;
                    total_ms_p90: number;
                    total_ms_p99: number;
                    /** @description that the loaded model takes */
                    memory_megabytes: number;
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
                        /** @description of the program that measured */
                        svc_version: string;
                        /** @description such as linux */
                        os: string;
                        /** @description such as arm64 */
                        arch: string;
                        /** @description as the processor calls itself */
                        cpu_model: string;
                        cpu_cores: number;
                        /** @description of the machine */
                        memory_gb: number;
                        /** @enum {string} */
                        engine: "llama.cpp" | "onnxruntime" | "mlx-lm" | "mlc-llm" | "mnn";
                        model_architecture: string | null;
                        model_parameters: number | null;
                        model_quantization: string | null;
                        model_megabytes: number;
                        iterations: number;
                        max_tokens: number;
                        first_token_ms_p50: number;
                        first_token_ms_p90: number;
                        first_token_ms_p99: number;
                        tokens_per_second_p50: number;
                        /** @description reached by 90 % of the runs */
                        tokens_per_second_p90: number;
                        tokens_per_second_p99: number;
                        total_ms_p50: number;
                        total_ms_p90: number;
                        total_ms_p99: number;
                        /** @description that the loaded model takes */
                        memory_megabytes: number;
                        /**
                         * Format: date
                         * @description the day, in UTC
                         */
                        reported_on: string;
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    "getUploadOffset-head": {
        parameters: {
            query: {
                /** @description Bytes of the whole file */
                size: number;
            };
            header?: never;
            path: {
                /** @description Of the whole file, in lower-case hex */
                sha256: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description In the header Upload-Offset */
            200: {
                headers: {
                    /** @description Bytes that are there */
                    "Upload-Offset"?: number;
                    [name: string]: unknown;
                };
                content?: never;
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
    appendToUpload: {
        parameters: {
            query?: never;
            header: {
                /** @description Bytes that are there already */
                "upload-offset": string;
                /** @description Bytes of the whole file */
                "upload-length": string;
            };
            path: {
                /** @description Of the whole file, in lower-case hex */
                sha256: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": unknown;
            };
        };
        responses: {
            /** @description In the header Upload-Offset */
            204: {
                headers: {
                    /** @description Bytes that are there */
                    "Upload-Offset"?: number;
                    [name: string]: unknown;
                };
                content?: never;
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
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
                    /** @description Unique in the organization, usable as model_id */
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
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
                    file?: string;
                    /** @enum {string} */
                    format?: "pytorch" | "tensorflow" | "onnx" | "sklearn" | "xgboost";
                    description?: string;
                    /** @description Semantic version; n.0.0 when absent */
                    version_label?: string;
                    /** @description Instead of file, sha256:<hex> of what was sent to /uploads */
                    upload?: string;
                    /** @description With upload, its Upload-Length */
                    upload_size?: number;
                    /** @description With upload, what the file is called */
                    file_name?: string;
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
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
    listFederations: {
        parameters: {
            query?: {
                /** @description Only those that it is a member of or invited to */
                org_id?: string;
                name?: string;
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
                        federations: {
                            /** Format: uuid */
                            id: string;
                            name: string;
                            description: string;
                            /** @description The owner */
                            org_id: string;
                            /** @enum {string} */
                            status: "active";
                            /** @description Active members, the owner among them */
                            member_count: number;
                            /**
                             * Format: date-time
                             * @description ISO 8601, UTC
                             */
                            created_at: string;
                            membership: {
                                /** @enum {string} */
                                role: "owner" | "member";
                                /** @enum {string} */
                                status: "invited" | "active";
                            } | null;
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
    createFederation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Unique among those of its owner */
                    name: string;
                    /** @description The owner */
                    org_id: string;
                    description?: string;
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
                        description: string;
                        /** @description The owner */
                        org_id: string;
                        /** @enum {string} */
                        status: "active";
                        /** @description Active members, the owner among them */
                        member_count: number;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        membership: {
                            /** @enum {string} */
                            role: "owner" | "member";
                            /** @enum {string} */
                            status: "invited" | "active";
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getFederation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                federation_id: string;
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
                        description: string;
                        /** @description The owner */
                        org_id: string;
                        /** @enum {string} */
                        status: "active";
                        /** @description Active members, the owner among them */
                        member_count: number;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        membership: {
                            /** @enum {string} */
                            role: "owner" | "member";
                            /** @enum {string} */
                            status: "invited" | "active";
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
    inviteToFederation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                federation_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    org_ids: string[];
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
                        federation_id: string;
                        invited: string[];
                        /** @description Members or invited already */
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    joinFederation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                federation_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    org_id: string;
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
                        federation_id: string;
                        org_id: string;
                        /** @enum {string} */
                        role: "owner" | "member";
                        /** @enum {string} */
                        status: "invited" | "active";
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listFederationMembers: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
            };
            header?: never;
            path: {
                federation_id: string;
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
                        members: {
                            org_id: string;
                            /** @enum {string} */
                            role: "owner" | "member";
                            /** @enum {string} */
                            status: "invited" | "active";
                            invited_at: string | null;
                            joined_at: string | null;
                            /** @description Completed rounds with an update of its devices */
                            rounds_contributed: number;
                            total_samples: number;
                            avg_accuracy: number | null;
                            avg_loss: number | null;
                            last_contribution_at: string | null;
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
    removeFederationMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                federation_id: string;
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
                        /** Format: uuid */
                        federation_id: string;
                        org_id: string;
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
    listSharedModels: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
            };
            header?: never;
            path: {
                federation_id: string;
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
                        models: {
                            /** Format: uuid */
                            federation_id: string;
                            /** Format: uuid */
                            model_id: string;
                            org_id: string | null;
                            name: string | null;
                            framework: string;
                            description: string;
                            accuracy: number | null;
                            loss: number | null;
                            latest_version: number | null;
                            /**
                             * Format: date-time
                             * @description ISO 8601, UTC
                             */
                            shared_at: string;
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
    shareModel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                federation_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Id or name of a model */
                    model_id: string;
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
                        federation_id: string;
                        /** Format: uuid */
                        model_id: string;
                        org_id: string | null;
                        name: string | null;
                        framework: string;
                        description: string;
                        accuracy: number | null;
                        loss: number | null;
                        latest_version: number | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        shared_at: string;
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    unshareModel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                federation_id: string;
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
                        federation_id: string;
                        /** Format: uuid */
                        model_id: string;
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
    getPrivacyBudget: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                federation_id: string;
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
                        federation_id: string;
                        /** @description 0 until one is set */
                        total_epsilon_budget: number;
                        total_delta_budget: number;
                        current_epsilon_spent: number;
                        epsilon_remaining: number;
                        is_exhausted: boolean;
                        rounds_tracked: number;
                        /** @description Whether the owner has set a budget; private rounds need one */
                        is_set: boolean;
                        /** @description Spent, and reserved by rounds in progress */
                        epsilon_committed: number;
                        /**
                         * @description The tighter bound: Renyi differential privacy, or the privacy loss distribution
                         * @enum {string}
                         */
                        accountant: "rdp" | "pld";
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
    setPrivacyBudget: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                federation_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    total_epsilon_budget: number;
                    /** @default 0.00001 */
                    total_delta_budget?: number;
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
                        federation_id: string;
                        /** @description 0 until one is set */
                        total_epsilon_budget: number;
                        total_delta_budget: number;
                        current_epsilon_spent: number;
                        epsilon_remaining: number;
                        is_exhausted: boolean;
                        rounds_tracked: number;
                        /** @description Whether the owner has set a budget; private rounds need one */
                        is_set: boolean;
                        /** @description Spent, and reserved by rounds in progress */
                        epsilon_committed: number;
                        /**
                         * @description The tighter bound: Renyi differential privacy, or the privacy loss distribution
                         * @enum {string}
                         */
                        accountant: "rdp" | "pld";
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    estimatePrivacyCost: {
        parameters: {
            query: {
                /** @description Standard deviation of the noise over the clip norm. At least 1e-9; more than 1e6 counts as 1e6 */
                noise_multiplier: number;
                /** @description The part of all devices that takes part; below 1e-9 it counts as 1e-9 */
                sample_rate: number;
                num_steps?: number;
                /** @description The budget's when absent */
                target_delta?: number;
            };
            header?: never;
            path: {
                federation_id: string;
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
                        /** @description Spent, and reserved by rounds in progress */
                        current_epsilon: number;
                        projected_epsilon: number;
                        /** @description What it adds: composed, less than it costs alone */
                        round_epsilon_cost: number;
                        would_exceed_budget: boolean;
                        budget_epsilon: number;
                        target_delta: number;
                        /**
                         * @description The tighter bound: Renyi differential privacy, or the privacy loss distribution
                         * @enum {string}
                         */
                        accountant: "rdp" | "pld";
                        projected_epsilon_rdp: number;
                        projected_epsilon_pld: number | null;
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
    listPrivacyHistory: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
            };
            header?: never;
            path: {
                federation_id: string;
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
                        federation_id: string;
                        history: {
                            /** Format: uuid */
                            round_id: string;
                            job_id: string | null;
                            /** @enum {string} */
                            status: "reserved" | "settled";
                            noise_multiplier: number;
                            sample_rate: number;
                            num_steps: number;
                            clip_norm: number | null;
                            epsilon_cost: number | null;
                            cumulative_epsilon: number | null;
                            accountant: ("rdp" | "pld") | null;
                            /**
                             * Format: date-time
                             * @description ISO 8601, UTC
                             */
                            reserved_at: string;
                            settled_at: string | null;
                        }[];
                        target_delta: number;
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
    noiseForEpsilon: {
        parameters: {
            query: {
                /** @description The part of all devices that takes part; below 1e-9 it counts as 1e-9 */
                sample_rate: number;
                num_steps?: number;
                /** @description The budget's when absent */
                target_epsilon?: number;
                /** @description The budget's when absent */
                target_delta?: number;
            };
            header?: never;
            path: {
                federation_id: string;
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
                        federation_id: string;
                        noise_multiplier: number | null;
                        target_epsilon: number;
                        target_delta: number;
                        sample_rate: number;
                        num_steps: number;
                        current_epsilon: number;
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
    privateRoundsLeft: {
        parameters: {
            query: {
                /** @description Standard deviation of the noise over the clip norm. At least 1e-9; more than 1e6 counts as 1e6 */
                noise_multiplier: number;
                /** @description The part of all devices that takes part; below 1e-9 it counts as 1e-9 */
                sample_rate: number;
                num_steps?: number;
                /** @description The budget's when absent */
                target_delta?: number;
            };
            header?: never;
            path: {
                federation_id: string;
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
                        federation_id: string;
                        rounds_left: number;
                        budget_epsilon: number;
                        target_delta: number;
                        current_epsilon: number;
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
                    /** @description Chosen by the user, unique in its organization */
                    device_id: string;
                    /** @enum {string} */
                    platform?: "ios" | "android" | "macos" | "linux" | "windows" | "browser" | "python" | "unknown";
                    /** @description A number beyond ±3.4e38 becomes null, with a warning; magnitudes below 1e-38 become 0 */
                    capabilities?: {
                        [key: string]: unknown;
                    };
                    org_id?: string;
                    /** @description False: the device runs models and takes no part in rounds */
                    trains?: boolean;
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
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
            query?: {
                /** @description For keys bound to no organization, where several have a device of this device_id */
                org_id?: string;
            };
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
                        /** @description False: the device runs models and takes no part in rounds */
                        trains: boolean;
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
                    /** @description Unique in the organization */
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
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
                    /** @description Unique in the organization */
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
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
                        /** @description In the group already, or no device of its organization */
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
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
                        /** @description In the group already, or no device of its organization */
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
                /** @description For keys bound to no organization, where several have a device of this device_id */
                org_id?: string;
                /** @description Hold the answer until a round awaits the device or its assignments change, at most so long */
                wait_seconds?: number;
                /** @description The assignments_tag the device knows; they are then not repeated */
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
                    /** @description A number beyond ±3.4e38 becomes null, with a warning; magnitudes below 1e-38 become 0 */
                    metrics?: {
                        [key: string]: unknown;
                    };
                    /** @description False: the device runs models and takes no part in rounds */
                    trains?: boolean;
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
                        /** @description What the device is to run; absent when nothing, or as it knows */
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
                        /** @description Equal while the assignments are; 'none' of no assignments */
                        assignments_tag?: string;
                        /** @description Come again after so long; spread so that a large fleet does not come all at once */
                        next_heartbeat_seconds?: number;
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
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
            query?: {
                /** @description For keys bound to no organization, where several have a device of this device_id */
                org_id?: string;
            };
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
    reportAssignment: {
        parameters: {
            query?: {
                /** @description For keys bound to no organization, where several have a device of this device_id */
                org_id?: string;
            };
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
                    /** @description What the device measured with this version, e.g. accuracy and loss. A number beyond ±3.4e38 becomes null, with a warning; magnitudes below 1e-38 become 0 */
                    metrics?: {
                        [key: string]: number | null;
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
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
                    /** @description 60 when absent; fractions down to a second are fine */
                    step_interval_minutes?: number;
                    /** @description Only the devices of this group (id or name) */
                    group?: string;
                    /** @description Too many failures roll it back instead of pausing it; false when absent */
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    previewRollout: {
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
                    /** @description 60 when absent; fractions down to a second are fine */
                    step_interval_minutes?: number;
                    /** @description Only the devices of this group (id or name) */
                    group?: string;
                    /** @description Too many failures roll it back instead of pausing it; false when absent */
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    prepareDeployment: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Name or id of a model of the catalog */
                    model_name: string;
                    /** @description A version of it, or latest */
                    model_version: string;
                    devices?: string[];
                    /** @description Name (ours: or id) of a group */
                    group?: string;
                    /**
                     * @description Only those of the devices that run this
                     * @enum {string}
                     */
                    platform?: "ios" | "android" | "macos" | "linux" | "windows" | "browser" | "python" | "unknown";
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
                        /** @description At least one target was resolved */
                        ok: boolean;
                        target_count: number;
                        resolved_targets: string[];
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    executeDeployment: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Name or id of a model of the catalog */
                    model_name: string;
                    /** @description A version of it, or latest */
                    model_version: string;
                    devices?: string[];
                    /** @description Name (ours: or id) of a group */
                    group?: string;
                    /**
                     * @description Only those of the devices that run this
                     * @enum {string}
                     */
                    platform?: "ios" | "android" | "macos" | "linux" | "windows" | "browser" | "python" | "unknown";
                    /** @description Percentage of targets to activate; 100 when absent */
                    rollout_percentage?: number;
                    /**
                     * @description Canary when absent
                     * @enum {string}
                     */
                    strategy?: "canary" | "immediate" | "blue_green";
                    /** @description A week when absent */
                    deadline_minutes?: number;
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
                        deployment_id: string;
                        /** @enum {string} */
                        status: "started" | "completed" | "failed" | "rolled_back";
                        target_count: number;
                        activated_count: number;
                        /** @description What was accepted but may not be meant */
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listDeployments: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
                model_name?: string;
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
                        deployments: {
                            /** Format: uuid */
                            deployment_id: string;
                            org_id: string | null;
                            model_name: string;
                            model_version: string;
                            model_id: string | null;
                            /** @enum {string} */
                            status: "started" | "completed" | "failed" | "rolled_back";
                            /** @enum {string} */
                            strategy: "canary" | "immediate" | "blue_green";
                            rollout_percentage: number;
                            target_count: number;
                            activated_count: number;
                            reason: string | null;
                            switched_at: string | null;
                            deadline_at: string | null;
                            /**
                             * Format: date-time
                             * @description ISO 8601, UTC
                             */
                            created_at: string;
                            ended_at: string | null;
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
    getDeployment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                deployment_id: string;
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
                        deployment_id: string;
                        org_id: string | null;
                        model_name: string;
                        model_version: string;
                        model_id: string | null;
                        /** @enum {string} */
                        status: "started" | "completed" | "failed" | "rolled_back";
                        /** @enum {string} */
                        strategy: "canary" | "immediate" | "blue_green";
                        rollout_percentage: number;
                        target_count: number;
                        activated_count: number;
                        reason: string | null;
                        switched_at: string | null;
                        deadline_at: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        ended_at: string | null;
                        /** @description How many activated devices are in each state */
                        devices: {
                            [key: string]: number;
                        };
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
    listDeploymentDevices: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
            };
            header?: never;
            path: {
                deployment_id: string;
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
                            activated: boolean;
                            /**
                             * @description waiting: not activated yet; assigned: activated, and it has not said anything yet
                             * @enum {string}
                             */
                            state: "waiting" | "assigned" | "downloading" | "verifying" | "ready" | "active" | "failed";
                            version: string | null;
                            reason: string | null;
                            reported_at: string | null;
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
    getDeploymentHistory: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
            };
            header?: never;
            path: {
                deployment_id: string;
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
    rollbackDeployment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                deployment_id: string;
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
                        deployment_id: string;
                        org_id: string | null;
                        model_name: string;
                        model_version: string;
                        model_id: string | null;
                        /** @enum {string} */
                        status: "started" | "completed" | "failed" | "rolled_back";
                        /** @enum {string} */
                        strategy: "canary" | "immediate" | "blue_green";
                        rollout_percentage: number;
                        target_count: number;
                        activated_count: number;
                        reason: string | null;
                        switched_at: string | null;
                        deadline_at: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        ended_at: string | null;
                        /** @description How many activated devices are in each state */
                        devices: {
                            [key: string]: number;
                        };
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    promoteDeployment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                deployment_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description More than it is at */
                    rollout_percentage: number;
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
                        deployment_id: string;
                        org_id: string | null;
                        model_name: string;
                        model_version: string;
                        model_id: string | null;
                        /** @enum {string} */
                        status: "started" | "completed" | "failed" | "rolled_back";
                        /** @enum {string} */
                        strategy: "canary" | "immediate" | "blue_green";
                        rollout_percentage: number;
                        target_count: number;
                        activated_count: number;
                        reason: string | null;
                        switched_at: string | null;
                        deadline_at: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        ended_at: string | null;
                        /** @description How many activated devices are in each state */
                        devices: {
                            [key: string]: number;
                        };
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listExperiments: {
        parameters: {
            query?: {
                status?: "draft" | "running" | "paused" | "completed" | "cancelled";
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
                        experiments: {
                            /** Format: uuid */
                            id: string;
                            org_id: string | null;
                            name: string;
                            /** @enum {string} */
                            status: "draft" | "running" | "paused" | "completed" | "cancelled";
                            variants: {
                                name: string;
                                /** Format: uuid */
                                model_id: string;
                                version: string;
                                /** @description The share of devices; all of them sum to 1 */
                                allocation: number;
                            }[];
                            target_groups: string[];
                            primary_metric: string;
                            confidence_level: number;
                            reason: string | null;
                            /**
                             * Format: date-time
                             * @description ISO 8601, UTC
                             */
                            created_at: string;
                            started_at: string | null;
                            ended_at: string | null;
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
    createExperiment: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Unique in the organization */
                    name: string;
                    /** @description All others are compared with the first */
                    variants: {
                        name: string;
                        /** @description Id or name of a model */
                        model_id: string;
                        /** @description The share of devices; all of them sum to 1 */
                        allocation: number;
                        /** @description A version of the model. When absent, its highest at this moment, else its first to come */
                        version?: string;
                    }[];
                    /** @description Ids of device groups; all devices when empty */
                    target_groups?: string[];
                    /** @description What is compared; accuracy when absent */
                    primary_metric?: string;
                    /** @description Between 0 and 1; 0.95 when absent */
                    confidence_level?: number;
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
                        name: string;
                        /** @enum {string} */
                        status: "draft" | "running" | "paused" | "completed" | "cancelled";
                        variants: {
                            name: string;
                            /** Format: uuid */
                            model_id: string;
                            version: string;
                            /** @description The share of devices; all of them sum to 1 */
                            allocation: number;
                        }[];
                        target_groups: string[];
                        primary_metric: string;
                        confidence_level: number;
                        reason: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        started_at: string | null;
                        ended_at: string | null;
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getExperiment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                experiment_id: string;
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
                        name: string;
                        /** @enum {string} */
                        status: "draft" | "running" | "paused" | "completed" | "cancelled";
                        variants: {
                            name: string;
                            /** Format: uuid */
                            model_id: string;
                            version: string;
                            /** @description The share of devices; all of them sum to 1 */
                            allocation: number;
                        }[];
                        target_groups: string[];
                        primary_metric: string;
                        confidence_level: number;
                        reason: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        started_at: string | null;
                        ended_at: string | null;
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
    startExperiment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                experiment_id: string;
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
                        /** @enum {string} */
                        status: "draft" | "running" | "paused" | "completed" | "cancelled";
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        started_at: string;
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
    pauseExperiment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                experiment_id: string;
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
                        id: string;
                        org_id: string | null;
                        name: string;
                        /** @enum {string} */
                        status: "draft" | "running" | "paused" | "completed" | "cancelled";
                        variants: {
                            name: string;
                            /** Format: uuid */
                            model_id: string;
                            version: string;
                            /** @description The share of devices; all of them sum to 1 */
                            allocation: number;
                        }[];
                        target_groups: string[];
                        primary_metric: string;
                        confidence_level: number;
                        reason: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        started_at: string | null;
                        ended_at: string | null;
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    resumeExperiment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                experiment_id: string;
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
                        id: string;
                        org_id: string | null;
                        name: string;
                        /** @enum {string} */
                        status: "draft" | "running" | "paused" | "completed" | "cancelled";
                        variants: {
                            name: string;
                            /** Format: uuid */
                            model_id: string;
                            version: string;
                            /** @description The share of devices; all of them sum to 1 */
                            allocation: number;
                        }[];
                        target_groups: string[];
                        primary_metric: string;
                        confidence_level: number;
                        reason: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        started_at: string | null;
                        ended_at: string | null;
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    completeExperiment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                experiment_id: string;
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
                        id: string;
                        org_id: string | null;
                        name: string;
                        /** @enum {string} */
                        status: "draft" | "running" | "paused" | "completed" | "cancelled";
                        variants: {
                            name: string;
                            /** Format: uuid */
                            model_id: string;
                            version: string;
                            /** @description The share of devices; all of them sum to 1 */
                            allocation: number;
                        }[];
                        target_groups: string[];
                        primary_metric: string;
                        confidence_level: number;
                        reason: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        started_at: string | null;
                        ended_at: string | null;
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    cancelExperiment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                experiment_id: string;
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
                        id: string;
                        org_id: string | null;
                        name: string;
                        /** @enum {string} */
                        status: "draft" | "running" | "paused" | "completed" | "cancelled";
                        variants: {
                            name: string;
                            /** Format: uuid */
                            model_id: string;
                            version: string;
                            /** @description The share of devices; all of them sum to 1 */
                            allocation: number;
                        }[];
                        target_groups: string[];
                        primary_metric: string;
                        confidence_level: number;
                        reason: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        started_at: string | null;
                        ended_at: string | null;
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getExperimentAssignment: {
        parameters: {
            query?: {
                /** @description The device asked about; the one that owns the key when absent */
                device_id?: string;
            };
            header?: never;
            path: {
                experiment_id: string;
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
                        experiment_id: string;
                        device_id: string;
                        /** @enum {string} */
                        status: "draft" | "running" | "paused" | "completed" | "cancelled";
                        variant: string | null;
                        model_id: string | null;
                        version: string | null;
                        /** @description Whether the device is given the variant now */
                        assigned: boolean;
                        reason: string | null;
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
    addObservations: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                experiment_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    device_id?: string;
                    /** @description What the device measured, e.g. accuracy and loss; null counts for nothing. A number beyond ±3.4e38 becomes null, with a warning; magnitudes below 1e-38 become 0 */
                    metrics?: {
                        [key: string]: number | null;
                    };
                    /** @description Many at once, instead of device_id and metrics */
                    observations?: {
                        device_id: string;
                        /** @description What the device measured, e.g. accuracy and loss; null counts for nothing. A number beyond ±3.4e38 becomes null, with a warning; magnitudes below 1e-38 become 0 */
                        metrics: {
                            [key: string]: number | null;
                        };
                    }[];
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
                        experiment_id: string;
                        accepted: number;
                        skipped: {
                            device_id: string;
                            reason: string;
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getExperimentAnalytics: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                experiment_id: string;
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
                        experiment_id: string;
                        /** @enum {string} */
                        status: "draft" | "running" | "paused" | "completed" | "cancelled";
                        variants: {
                            name: string;
                            /** @description Devices that reported anything */
                            sample_size: number;
                            accuracy: number | null;
                            loss: number | null;
                            /** @description The share of devices; all of them sum to 1 */
                            allocation: number;
                            metrics: {
                                [key: string]: {
                                    devices: number;
                                    observations: number;
                                    /** @description Of the devices' means */
                                    mean: number;
                                    std_dev: number | null;
                                };
                            };
                        }[];
                        p_value: number | null;
                        significant: boolean;
                        confidence_level: number;
                        primary_metric: string;
                        comparisons: {
                            variant: string;
                            baseline: string;
                            difference: number | null;
                            t_statistic: number | null;
                            degrees_of_freedom: number | null;
                            p_value: number | null;
                            adjusted_p_value: number | null;
                            effect_size: number | null;
                            confidence_interval: {
                                lower: number;
                                upper: number;
                                level: number;
                            } | null;
                            always_valid_interval: {
                                lower: number;
                                upper: number;
                                level: number;
                            } | null;
                            /** @description Whether the always-valid interval leaves zero out */
                            decided: boolean;
                        }[];
                        sample_ratio: {
                            chi_square_statistic: number;
                            degrees_of_freedom: number;
                            p_value: number;
                            /** @description p below 0.001: the comparisons are not to be trusted */
                            mismatch: boolean;
                        } | null;
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
    createPairing: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description What the device gets once it is paired */
                    model_name?: string;
                    /** @description latest when absent */
                    model_version?: string;
                    /**
                     * @description Only such a device may take the code
                     * @enum {string}
                     */
                    platform?: "ios" | "android" | "macos" | "linux" | "windows" | "browser" | "python" | "unknown";
                    /** @description Of the device; that of the key when absent */
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
                        pairing_id: string;
                        org_id: string | null;
                        /** @enum {string} */
                        status: "waiting" | "paired" | "deploying" | "active" | "expired" | "failed";
                        reason: string | null;
                        model_name: string | null;
                        model_version: string | null;
                        device_id: string | null;
                        platform: ("ios" | "android" | "macos" | "linux" | "windows" | "browser" | "python" | "unknown") | null;
                        device_state: ("downloading" | "verifying" | "ready" | "active" | "failed") | null;
                        deployment_id: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        expires_at: string;
                        /** @description Told here and nowhere else; pairs one device, within 5 minutes */
                        code: string;
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getPairing: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                pairing_id: string;
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
                        pairing_id: string;
                        org_id: string | null;
                        /** @enum {string} */
                        status: "waiting" | "paired" | "deploying" | "active" | "expired" | "failed";
                        reason: string | null;
                        model_name: string | null;
                        model_version: string | null;
                        device_id: string | null;
                        platform: ("ios" | "android" | "macos" | "linux" | "windows" | "browser" | "python" | "unknown") | null;
                        device_state: ("downloading" | "verifying" | "ready" | "active" | "failed") | null;
                        deployment_id: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        expires_at: string;
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
    claimPairing: {
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
                    /** @description May be left out with the device's own key */
                    device_id?: string;
                    /** @enum {string} */
                    platform?: "ios" | "android" | "macos" | "linux" | "windows" | "browser" | "python" | "unknown";
                    device_name?: string;
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
                        pairing_id: string;
                        org_id: string | null;
                        /** @enum {string} */
                        status: "waiting" | "paired" | "deploying" | "active" | "expired" | "failed";
                        reason: string | null;
                        model_name: string | null;
                        model_version: string | null;
                        device_id: string | null;
                        platform: ("ios" | "android" | "macos" | "linux" | "windows" | "browser" | "python" | "unknown") | null;
                        device_state: ("downloading" | "verifying" | "ready" | "active" | "failed") | null;
                        deployment_id: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        expires_at: string;
                        api_key: string | null;
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getPolicy: {
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
                        model_id: string;
                        org_id: string | null;
                        enabled: boolean;
                        canary_percentage: number;
                        canary_group_id: string | null;
                        observe_minutes: number;
                        min_reports: number;
                        max_accuracy_drop: number;
                        max_loss_increase: number;
                        confidence_level: number;
                        increment_step: number;
                        step_interval_minutes: number;
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
    setPolicy: {
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
                    /** @description false when absent: nothing happens by itself */
                    enabled?: boolean;
                    /** @description 10 when absent */
                    canary_percentage?: number;
                    /** @description Id or name of a device group; the fleet when absent */
                    canary_group?: string;
                    /** @description 60 when absent; then it goes back */
                    observe_minutes?: number;
                    /** @description Devices on either side that must have measured for a conclusion before the time; 20 when absent */
                    min_reports?: number;
                    /** @description How much lower the mean accuracy may be; 0.02 when absent */
                    max_accuracy_drop?: number;
                    /** @description How much higher the mean loss may be, as a share of the current version's; 0.05 when absent */
                    max_loss_increase?: number;
                    /** @description 0.95 when absent */
                    confidence_level?: number;
                    /** @description The promotion's, as in rollouts; 10 when absent */
                    increment_step?: number;
                    /** @description 60 when absent */
                    step_interval_minutes?: number;
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
                        org_id: string | null;
                        enabled: boolean;
                        canary_percentage: number;
                        canary_group_id: string | null;
                        observe_minutes: number;
                        min_reports: number;
                        max_accuracy_drop: number;
                        max_loss_increase: number;
                        confidence_level: number;
                        increment_step: number;
                        step_interval_minutes: number;
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deletePolicy: {
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
                        model_id: string;
                        org_id: string | null;
                        enabled: boolean;
                        canary_percentage: number;
                        canary_group_id: string | null;
                        observe_minutes: number;
                        min_reports: number;
                        max_accuracy_drop: number;
                        max_loss_increase: number;
                        confidence_level: number;
                        increment_step: number;
                        step_interval_minutes: number;
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
    listDecisions: {
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
                        decisions: {
                            /** Format: uuid */
                            id: string;
                            /** Format: uuid */
                            round_id: string;
                            round_number: number;
                            /** Format: uuid */
                            aggregate_model_id: string;
                            /** @description The aggregate's number among the versions of the policy's model */
                            version: string;
                            /** @enum {string} */
                            status: "observing" | "promoted" | "rolled_back";
                            reason: string | null;
                            canary_rollout_id: string | null;
                            promotion_rollout_id: string | null;
                            comparisons: {
                                /** @enum {string} */
                                metric: "accuracy" | "loss";
                                canary: {
                                    devices: number;
                                    mean: number | null;
                                };
                                current: {
                                    devices: number;
                                    mean: number | null;
                                };
                                interval: {
                                    lower: number;
                                    upper: number;
                                } | null;
                                margin: number;
                                /** @enum {string} */
                                finding: "no_worse" | "worse" | "unclear";
                            }[];
                            /**
                             * Format: date-time
                             * @description ISO 8601, UTC
                             */
                            created_at: string;
                            decided_at: string | null;
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
                    /** @description For keys bound to no org */
                    org_id?: string;
                    /** @description Handed to the devices with the plan, e.g. local_epochs, batch_size, learning_rate */
                    hyperparameters?: {
                        [key: string]: unknown;
                    };
                    /**
                     * @description fedavg when absent; fedyogi, fedadagrad and fedavgm are fedopt with that variant
                     * @enum {string}
                     */
                    strategy?: "fedavg" | "fedprox" | "scaffold" | "krum" | "multikrum" | "fedmedian" | "fedtrimmedavg" | "fedopt" | "fedadam" | "ditto" | "fedbuff" | "fedyogi" | "fedadagrad" | "fedavgm";
                    /** @description The strategy's own options */
                    strategy_options?: Record<string, never> | {
                        /**
                         * @description How strongly devices are held to the model.
                         * @default 0.01
                         */
                        mu?: number;
                    } | {
                        /**
                         * @description Step of the server along the mean change.
                         * @default 1
                         */
                        server_learning_rate?: number;
                    } | {
                        /**
                         * @description f, how many of the updates may lie; a round needs at least 2f + 3 updates.
                         * @default 1
                         */
                        byzantine?: number;
                        /**
                         * @description How many of the best are averaged.
                         * @default 1
                         */
                        keep?: number;
                    } | {
                        /**
                         * @description f, how many of the updates may lie; a round needs at least 2f + 3 updates.
                         * @default 1
                         */
                        byzantine?: number;
                        /**
                         * @description How many of the best are averaged; 0 is all but f.
                         * @default 0
                         */
                        keep?: number;
                    } | Record<string, never> | {
                        /**
                         * @description The share dropped at either end; floor(trim * n) updates.
                         * @default 0.2
                         */
                        trim?: number;
                    } | {
                        /**
                         * @description Which optimizer.
                         * @default yogi
                         * @enum {string}
                         */
                        variant?: "momentum" | "adagrad" | "yogi" | "adam";
                        /** @description Step of the server; 1 for momentum, 0.1 for the others unless it is given. */
                        server_learning_rate?: number;
                        /** @description How much of the last direction is kept. */
                        beta1?: number;
                        /**
                         * @description How much of the squared steps is kept; unused by momentum and adagrad.
                         * @default 0.99
                         */
                        beta2?: number;
                        /**
                         * @description How adaptive the step is: smaller is more. v starts at tau squared.
                         * @default 0.001
                         */
                        tau?: number;
                    } | {
                        /**
                         * @description The paper's form, or Flower's with bias correction and v starting at 0.
                         * @default paper
                         * @enum {string}
                         */
                        form?: "paper" | "flower";
                        /**
                         * @description Step of the server.
                         * @default 0.1
                         */
                        server_learning_rate?: number;
                        /** @description How much of the last direction is kept. */
                        beta1?: number;
                        /**
                         * @description How much of the squared steps is kept; unused by momentum and adagrad.
                         * @default 0.99
                         */
                        beta2?: number;
                        /**
                         * @description How adaptive the step is: smaller is more. v starts at tau squared.
                         * @default 0.001
                         */
                        tau?: number;
                    } | {
                        /**
                         * @description How strongly the personal model is held to the global one.
                         * @default 0.1
                         */
                        lambda?: number;
                    } | {
                        /**
                         * @description K, how many updates move the model once.
                         * @default 10
                         */
                        buffer?: number;
                        /**
                         * @description Step of the server.
                         * @default 1
                         */
                        server_learning_rate?: number;
                        /**
                         * @description a in (1 + staleness)^-a, the weight of a late update.
                         * @default 0.5
                         */
                        staleness_exponent?: number;
                        /**
                         * @description Updates that began more rounds ago are refused.
                         * @default 50
                         */
                        max_staleness?: number;
                    };
                    /** @description Id or name of a device group; only its members take part */
                    group?: string;
                    /** @description The same as group */
                    group_id?: string;
                    /** @description Id of a federation; devices of all active members take part */
                    federation?: string;
                    /** @description The same as federation */
                    federation_id?: string;
                    /** @description Every update is clipped to clip_norm, and their sum gets Gaussian noise */
                    privacy?: {
                        noise_multiplier: number;
                        clip_norm: number;
                        adaptive_clip?: boolean;
                        /** @description What epsilon is told at; 1e-5 when absent */
                        target_delta?: number;
                    };
                    /** @description The service learns the sum of the updates and nothing of any single one */
                    secure_aggregation?: {
                        /** @description Devices that must stay to the end: more than half; two thirds of the selected when absent */
                        threshold?: number;
                        /** @description Bound on the change of a weight; 8 */
                        range?: number;
                        /** @description An update weighs its samples up to this; 1 */
                        max_weight?: number;
                    };
                    /** @description The model, where there is one, and the updates are bare little-endian float32 vectors */
                    raw_vector?: boolean;
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
                        /**
                         * @description The aggregation rule; FedAvg when absent
                         * @enum {string}
                         */
                        strategy?: "fedavg" | "fedprox" | "scaffold" | "krum" | "multikrum" | "fedmedian" | "fedtrimmedavg" | "fedopt" | "fedadam" | "ditto" | "fedbuff";
                        strategy_options?: {
                            [key: string]: unknown;
                        };
                        /** Format: uuid */
                        job_id?: string;
                        /** Format: uuid */
                        group_id?: string;
                        /** Format: uuid */
                        federation_id?: string;
                        wanted_updates?: number;
                        privacy?: {
                            noise_multiplier: number;
                            clip_norm: number;
                            denominator: number;
                            sample_rate: number;
                            /**
                             * @description Every eligible device has a coin of its own
                             * @enum {string}
                             */
                            sampling?: "poisson";
                            /** @description Eligible devices N; sample_rate is target_devices / N, both fixed before the draw */
                            population?: number;
                            /**
                             * @description What epsilon speaks of: a device that takes part or sends nothing, N unchanged
                             * @enum {string}
                             */
                            adjacency?: "zero-out";
                            /**
                             * Format: date-time
                             * @description No update moves the end of the round
                             */
                            closes_at?: string;
                            adaptive_clip: boolean;
                            target_delta?: number;
                            /** @description What the round costs by itself; costs do not add up */
                            epsilon?: number;
                            /**
                             * @description Which bound is the tighter one
                             * @enum {string}
                             */
                            accountant?: "rdp" | "pld";
                        };
                        secure_aggregation?: {
                            devices: number;
                            threshold: number;
                            range: number;
                            max_weight: number;
                        };
                        /** @description The model, where there is one, and the updates are bare little-endian float32 vectors */
                        raw_vector?: boolean;
                        accuracy?: number | null;
                        loss?: number | null;
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
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
                        /**
                         * @description The aggregation rule; FedAvg when absent
                         * @enum {string}
                         */
                        strategy?: "fedavg" | "fedprox" | "scaffold" | "krum" | "multikrum" | "fedmedian" | "fedtrimmedavg" | "fedopt" | "fedadam" | "ditto" | "fedbuff";
                        strategy_options?: {
                            [key: string]: unknown;
                        };
                        /** Format: uuid */
                        job_id?: string;
                        /** Format: uuid */
                        group_id?: string;
                        /** Format: uuid */
                        federation_id?: string;
                        wanted_updates?: number;
                        privacy?: {
                            noise_multiplier: number;
                            clip_norm: number;
                            denominator: number;
                            sample_rate: number;
                            /**
                             * @description Every eligible device has a coin of its own
                             * @enum {string}
                             */
                            sampling?: "poisson";
                            /** @description Eligible devices N; sample_rate is target_devices / N, both fixed before the draw */
                            population?: number;
                            /**
                             * @description What epsilon speaks of: a device that takes part or sends nothing, N unchanged
                             * @enum {string}
                             */
                            adjacency?: "zero-out";
                            /**
                             * Format: date-time
                             * @description No update moves the end of the round
                             */
                            closes_at?: string;
                            adaptive_clip: boolean;
                            target_delta?: number;
                            /** @description What the round costs by itself; costs do not add up */
                            epsilon?: number;
                            /**
                             * @description Which bound is the tighter one
                             * @enum {string}
                             */
                            accountant?: "rdp" | "pld";
                        };
                        secure_aggregation?: {
                            devices: number;
                            threshold: number;
                            range: number;
                            max_weight: number;
                        };
                        /** @description The model, where there is one, and the updates are bare little-endian float32 vectors */
                        raw_vector?: boolean;
                        accuracy?: number | null;
                        loss?: number | null;
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
                            /**
                             * @description The aggregation rule; FedAvg when absent
                             * @enum {string}
                             */
                            strategy?: "fedavg" | "fedprox" | "scaffold" | "krum" | "multikrum" | "fedmedian" | "fedtrimmedavg" | "fedopt" | "fedadam" | "ditto" | "fedbuff";
                            strategy_options?: {
                                [key: string]: unknown;
                            };
                            /** Format: uuid */
                            job_id?: string;
                            /** Format: uuid */
                            group_id?: string;
                            /** Format: uuid */
                            federation_id?: string;
                            wanted_updates?: number;
                            privacy?: {
                                noise_multiplier: number;
                                clip_norm: number;
                                denominator: number;
                                sample_rate: number;
                                /**
                                 * @description Every eligible device has a coin of its own
                                 * @enum {string}
                                 */
                                sampling?: "poisson";
                                /** @description Eligible devices N; sample_rate is target_devices / N, both fixed before the draw */
                                population?: number;
                                /**
                                 * @description What epsilon speaks of: a device that takes part or sends nothing, N unchanged
                                 * @enum {string}
                                 */
                                adjacency?: "zero-out";
                                /**
                                 * Format: date-time
                                 * @description No update moves the end of the round
                                 */
                                closes_at?: string;
                                adaptive_clip: boolean;
                                target_delta?: number;
                                /** @description What the round costs by itself; costs do not add up */
                                epsilon?: number;
                                /**
                                 * @description Which bound is the tighter one
                                 * @enum {string}
                                 */
                                accountant?: "rdp" | "pld";
                            };
                            secure_aggregation?: {
                                devices: number;
                                threshold: number;
                                range: number;
                                max_weight: number;
                            };
                            /** @description The model, where there is one, and the updates are bare little-endian float32 vectors */
                            raw_vector?: boolean;
                            accuracy?: number | null;
                            loss?: number | null;
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
                        /**
                         * @description The aggregation rule; FedAvg when absent
                         * @enum {string}
                         */
                        strategy?: "fedavg" | "fedprox" | "scaffold" | "krum" | "multikrum" | "fedmedian" | "fedtrimmedavg" | "fedopt" | "fedadam" | "ditto" | "fedbuff";
                        strategy_options?: {
                            [key: string]: unknown;
                        };
                        /** Format: uuid */
                        job_id?: string;
                        /** Format: uuid */
                        group_id?: string;
                        /** Format: uuid */
                        federation_id?: string;
                        wanted_updates?: number;
                        privacy?: {
                            noise_multiplier: number;
                            clip_norm: number;
                            denominator: number;
                            sample_rate: number;
                            /**
                             * @description Every eligible device has a coin of its own
                             * @enum {string}
                             */
                            sampling?: "poisson";
                            /** @description Eligible devices N; sample_rate is target_devices / N, both fixed before the draw */
                            population?: number;
                            /**
                             * @description What epsilon speaks of: a device that takes part or sends nothing, N unchanged
                             * @enum {string}
                             */
                            adjacency?: "zero-out";
                            /**
                             * Format: date-time
                             * @description No update moves the end of the round
                             */
                            closes_at?: string;
                            adaptive_clip: boolean;
                            target_delta?: number;
                            /** @description What the round costs by itself; costs do not add up */
                            epsilon?: number;
                            /**
                             * @description Which bound is the tighter one
                             * @enum {string}
                             */
                            accountant?: "rdp" | "pld";
                        };
                        secure_aggregation?: {
                            devices: number;
                            threshold: number;
                            range: number;
                            max_weight: number;
                        };
                        /** @description The model, where there is one, and the updates are bare little-endian float32 vectors */
                        raw_vector?: boolean;
                        accuracy?: number | null;
                        loss?: number | null;
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
    cancelRound: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                round_id: string;
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
                        /**
                         * @description The aggregation rule; FedAvg when absent
                         * @enum {string}
                         */
                        strategy?: "fedavg" | "fedprox" | "scaffold" | "krum" | "multikrum" | "fedmedian" | "fedtrimmedavg" | "fedopt" | "fedadam" | "ditto" | "fedbuff";
                        strategy_options?: {
                            [key: string]: unknown;
                        };
                        /** Format: uuid */
                        job_id?: string;
                        /** Format: uuid */
                        group_id?: string;
                        /** Format: uuid */
                        federation_id?: string;
                        wanted_updates?: number;
                        privacy?: {
                            noise_multiplier: number;
                            clip_norm: number;
                            denominator: number;
                            sample_rate: number;
                            /**
                             * @description Every eligible device has a coin of its own
                             * @enum {string}
                             */
                            sampling?: "poisson";
                            /** @description Eligible devices N; sample_rate is target_devices / N, both fixed before the draw */
                            population?: number;
                            /**
                             * @description What epsilon speaks of: a device that takes part or sends nothing, N unchanged
                             * @enum {string}
                             */
                            adjacency?: "zero-out";
                            /**
                             * Format: date-time
                             * @description No update moves the end of the round
                             */
                            closes_at?: string;
                            adaptive_clip: boolean;
                            target_delta?: number;
                            /** @description What the round costs by itself; costs do not add up */
                            epsilon?: number;
                            /**
                             * @description Which bound is the tighter one
                             * @enum {string}
                             */
                            accountant?: "rdp" | "pld";
                        };
                        secure_aggregation?: {
                            devices: number;
                            threshold: number;
                            range: number;
                            max_weight: number;
                        };
                        /** @description The model, where there is one, and the updates are bare little-endian float32 vectors */
                        raw_vector?: boolean;
                        accuracy?: number | null;
                        loss?: number | null;
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
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
                        strategy: "fedavg" | "fedprox" | "scaffold" | "krum" | "multikrum" | "fedmedian" | "fedtrimmedavg" | "fedopt" | "fedadam" | "ditto" | "fedbuff";
                        hyperparameters: {
                            [key: string]: unknown;
                        };
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        timeout_at: string;
                        strategy_options?: {
                            [key: string]: unknown;
                        };
                        /** Format: uuid */
                        job_id?: string;
                        /** @description Updates that come after the round count for a later one */
                        asynchronous?: boolean;
                        control?: {
                            control_size_bytes: number;
                            control_hash: string;
                        } | null;
                        secure_aggregation?: {
                            devices: number;
                            threshold: number;
                            range: number;
                            max_weight: number;
                        };
                        /** @description The model, where there is one, and the updates are bare little-endian float32 vectors */
                        raw_vector?: boolean;
                        privacy?: {
                            noise_multiplier: number;
                            clip_norm: number;
                            denominator: number;
                            sample_rate: number;
                            /**
                             * @description Every eligible device has a coin of its own
                             * @enum {string}
                             */
                            sampling?: "poisson";
                            /** @description Eligible devices N; sample_rate is target_devices / N, both fixed before the draw */
                            population?: number;
                            /**
                             * @description What epsilon speaks of: a device that takes part or sends nothing, N unchanged
                             * @enum {string}
                             */
                            adjacency?: "zero-out";
                        };
                        /** @description The norm that updates are clipped to when they are added up */
                        clip_norm?: number;
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
    downloadRoundControl: {
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
                        state: ("selected" | "delivered" | "failed" | "absent") | null;
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
    listRoundParticipants: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
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
                        participants: {
                            /** Format: uuid */
                            device_id: string;
                            /** @description The id that the device chose for itself */
                            device_identifier: string;
                            org_id: string | null;
                            /**
                             * @description absent: it did not fetch the plan in time; others may take its place, and its update is still accepted
                             * @enum {string}
                             */
                            state: "selected" | "delivered" | "failed" | "absent";
                            /**
                             * @description How it came to take part
                             * @enum {string}
                             */
                            chosen: "drawn" | "starter" | "joined";
                            /**
                             * Format: date-time
                             * @description ISO 8601, UTC
                             */
                            selected_at: string;
                            acknowledged_at: string | null;
                            model_fetched_at: string | null;
                            reported_at: string | null;
                            reason: string | null;
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
                            org_id?: string | null;
                            /** Format: uuid */
                            update_id: string;
                            sha256: string;
                            num_samples: number;
                            weight: number | null;
                            control_sha256?: string;
                            base_model_sha256?: string;
                            staleness?: number;
                        }[];
                        output_sha256: string;
                        strategy_options?: {
                            [key: string]: unknown;
                        };
                        population?: number;
                        secure_aggregation?: {
                            devices: number;
                            threshold: number;
                            range: number;
                            max_weight: number;
                        };
                        state_sha256?: string | null;
                        next_state_sha256?: string | null;
                        next_control_sha256?: string | null;
                        privacy?: {
                            noise_multiplier: number;
                            clip_norm: number;
                            denominator: number;
                            adaptive_clip: boolean;
                            sample_rate?: number;
                            /**
                             * @description Every eligible device has a coin of its own
                             * @enum {string}
                             */
                            sampling?: "poisson";
                            /** @description Eligible devices N; sample_rate is target_devices / N, both fixed before the draw */
                            population?: number;
                            /**
                             * @description What epsilon speaks of: a device that takes part or sends nothing, N unchanged
                             * @enum {string}
                             */
                            adjacency?: "zero-out";
                            target_delta?: number;
                            epsilon?: number;
                            /**
                             * @description Which bound is the tighter one
                             * @enum {string}
                             */
                            accountant?: "rdp" | "pld";
                            noise_seed_sha256: string;
                        };
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
    getSecureRound: {
        parameters: {
            query?: {
                /** @description How long the answer may be held */
                wait_seconds?: number;
                /** @description Held as long as the status is this */
                known_status?: string;
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
                        /** @enum {string} */
                        status: "advertising" | "sharing" | "masking" | "unmasking" | "done" | "failed";
                        reason: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        deadline_at: string;
                        settings: {
                            devices: number;
                            threshold: number;
                            range: number;
                            max_weight: number;
                        };
                        device_id: string | null;
                        /** @description Whether the present step waits for this device or has heard it */
                        counted: boolean;
                        /** @description Whether this device has been heard in the present step */
                        answered: boolean;
                        roster: {
                            [key: string]: {
                                /** @description X25519 public key under which others encrypt shares for this device */
                                encryption_key: string;
                                /** @description X25519 public key with which masks are agreed on */
                                masking_key: string;
                            };
                        } | null;
                        shares: {
                            [key: string]: string;
                        } | null;
                        delivered: string[] | null;
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
    advertiseSecureKeys: {
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
                    /** @description X25519 public key under which others encrypt shares for this device */
                    encryption_key: string;
                    /** @description X25519 public key with which masks are agreed on */
                    masking_key: string;
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
                        round_id: string;
                        /** @enum {string} */
                        status: "advertising" | "sharing" | "masking" | "unmasking" | "done" | "failed";
                        reason: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        deadline_at: string;
                        settings: {
                            devices: number;
                            threshold: number;
                            range: number;
                            max_weight: number;
                        };
                        device_id: string | null;
                        /** @description Whether the present step waits for this device or has heard it */
                        counted: boolean;
                        /** @description Whether this device has been heard in the present step */
                        answered: boolean;
                        roster: {
                            [key: string]: {
                                /** @description X25519 public key under which others encrypt shares for this device */
                                encryption_key: string;
                                /** @description X25519 public key with which masks are agreed on */
                                masking_key: string;
                            };
                        } | null;
                        shares: {
                            [key: string]: string;
                        } | null;
                        delivered: string[] | null;
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    dealSecureShares: {
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
                    /** @description HKDF of the self mask's seed */
                    seed_commitment: string;
                    sealed: {
                        [key: string]: string;
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
                        round_id: string;
                        /** @enum {string} */
                        status: "advertising" | "sharing" | "masking" | "unmasking" | "done" | "failed";
                        reason: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        deadline_at: string;
                        settings: {
                            devices: number;
                            threshold: number;
                            range: number;
                            max_weight: number;
                        };
                        device_id: string | null;
                        /** @description Whether the present step waits for this device or has heard it */
                        counted: boolean;
                        /** @description Whether this device has been heard in the present step */
                        answered: boolean;
                        roster: {
                            [key: string]: {
                                /** @description X25519 public key under which others encrypt shares for this device */
                                encryption_key: string;
                                /** @description X25519 public key with which masks are agreed on */
                                masking_key: string;
                            };
                        } | null;
                        shares: {
                            [key: string]: string;
                        } | null;
                        delivered: string[] | null;
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    revealSecureShares: {
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
                    self_masks: {
                        [key: string]: string;
                    };
                    masking_keys: {
                        [key: string]: string;
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
                        round_id: string;
                        /** @enum {string} */
                        status: "advertising" | "sharing" | "masking" | "unmasking" | "done" | "failed";
                        reason: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        deadline_at: string;
                        settings: {
                            devices: number;
                            threshold: number;
                            range: number;
                            max_weight: number;
                        };
                        device_id: string | null;
                        /** @description Whether the present step waits for this device or has heard it */
                        counted: boolean;
                        /** @description Whether this device has been heard in the present step */
                        answered: boolean;
                        roster: {
                            [key: string]: {
                                /** @description X25519 public key under which others encrypt shares for this device */
                                encryption_key: string;
                                /** @description X25519 public key with which masks are agreed on */
                                masking_key: string;
                            };
                        } | null;
                        shares: {
                            [key: string]: string;
                        } | null;
                        delivered: string[] | null;
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listTrainingJobs: {
        parameters: {
            query?: {
                status?: "pending" | "running" | "completed" | "failed" | "stopped";
                /** @description Id or name of the model it began from */
                model?: string;
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
                        jobs: {
                            /** Format: uuid */
                            id: string;
                            org_id: string | null;
                            name: string | null;
                            /** @enum {string} */
                            status: "pending" | "running" | "completed" | "failed" | "stopped";
                            model_id: string | null;
                            latest_model_id: string | null;
                            /** @enum {string} */
                            strategy: "fedavg" | "fedprox" | "scaffold" | "krum" | "multikrum" | "fedmedian" | "fedtrimmedavg" | "fedopt" | "fedadam" | "ditto" | "fedbuff";
                            strategy_options: {
                                [key: string]: unknown;
                            };
                            rounds: number;
                            rounds_completed: number;
                            rounds_failed_in_a_row: number;
                            min_devices: number;
                            target_devices: number;
                            over_selection: number;
                            timeout_seconds: number;
                            report_window_seconds: number | null;
                            wait_for_devices_seconds: number;
                            group_id: string | null;
                            federation_id: string | null;
                            hyperparameters: {
                                [key: string]: unknown;
                            };
                            privacy: {
                                noise_multiplier: number;
                                /** @description As adaptive clipping has it now */
                                clip_norm: number;
                                adaptive_clip: boolean;
                            } | null;
                            secure_aggregation: {
                                /** @description Devices that must stay to the end: more than half; two thirds of the selected when absent */
                                threshold?: number;
                                /** @description Bound on the change of a weight; 8 */
                                range?: number;
                                /** @description An update weighs its samples up to this; 1 */
                                max_weight?: number;
                            } | null;
                            stop_when: {
                                loss_improvement_below: number;
                                patience: number;
                            } | null;
                            /** @description The model, where there is one, and the updates are bare little-endian float32 vectors */
                            raw_vector?: boolean;
                            ended_by: ("rounds_done" | "converged" | "budget_spent" | "rounds_failed" | "no_devices" | "cannot_start" | "stopped") | null;
                            reason: string | null;
                            waiting_until: string | null;
                            waiting_for: string | null;
                            /**
                             * Format: date-time
                             * @description ISO 8601, UTC
                             */
                            created_at: string;
                            started_at: string | null;
                            ended_at: string | null;
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
    startTrainingJob: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Id or name of a model with an uploaded version */
                    model: string;
                    name?: string;
                    /** @description For keys bound to no org */
                    org_id?: string;
                    /**
                     * @description fedavg when absent; fedyogi, fedadagrad and fedavgm are fedopt with that variant
                     * @enum {string}
                     */
                    strategy?: "fedavg" | "fedprox" | "scaffold" | "krum" | "multikrum" | "fedmedian" | "fedtrimmedavg" | "fedopt" | "fedadam" | "ditto" | "fedbuff" | "fedyogi" | "fedadagrad" | "fedavgm";
                    /** @description The strategy's own options */
                    strategy_options?: Record<string, never> | {
                        /**
                         * @description How strongly devices are held to the model.
                         * @default 0.01
                         */
                        mu?: number;
                    } | {
                        /**
                         * @description Step of the server along the mean change.
                         * @default 1
                         */
                        server_learning_rate?: number;
                    } | {
                        /**
                         * @description f, how many of the updates may lie; a round needs at least 2f + 3 updates.
                         * @default 1
                         */
                        byzantine?: number;
                        /**
                         * @description How many of the best are averaged.
                         * @default 1
                         */
                        keep?: number;
                    } | {
                        /**
                         * @description f, how many of the updates may lie; a round needs at least 2f + 3 updates.
                         * @default 1
                         */
                        byzantine?: number;
                        /**
                         * @description How many of the best are averaged; 0 is all but f.
                         * @default 0
                         */
                        keep?: number;
                    } | Record<string, never> | {
                        /**
                         * @description The share dropped at either end; floor(trim * n) updates.
                         * @default 0.2
                         */
                        trim?: number;
                    } | {
                        /**
                         * @description Which optimizer.
                         * @default yogi
                         * @enum {string}
                         */
                        variant?: "momentum" | "adagrad" | "yogi" | "adam";
                        /** @description Step of the server; 1 for momentum, 0.1 for the others unless it is given. */
                        server_learning_rate?: number;
                        /** @description How much of the last direction is kept. */
                        beta1?: number;
                        /**
                         * @description How much of the squared steps is kept; unused by momentum and adagrad.
                         * @default 0.99
                         */
                        beta2?: number;
                        /**
                         * @description How adaptive the step is: smaller is more. v starts at tau squared.
                         * @default 0.001
                         */
                        tau?: number;
                    } | {
                        /**
                         * @description The paper's form, or Flower's with bias correction and v starting at 0.
                         * @default paper
                         * @enum {string}
                         */
                        form?: "paper" | "flower";
                        /**
                         * @description Step of the server.
                         * @default 0.1
                         */
                        server_learning_rate?: number;
                        /** @description How much of the last direction is kept. */
                        beta1?: number;
                        /**
                         * @description How much of the squared steps is kept; unused by momentum and adagrad.
                         * @default 0.99
                         */
                        beta2?: number;
                        /**
                         * @description How adaptive the step is: smaller is more. v starts at tau squared.
                         * @default 0.001
                         */
                        tau?: number;
                    } | {
                        /**
                         * @description How strongly the personal model is held to the global one.
                         * @default 0.1
                         */
                        lambda?: number;
                    } | {
                        /**
                         * @description K, how many updates move the model once.
                         * @default 10
                         */
                        buffer?: number;
                        /**
                         * @description Step of the server.
                         * @default 1
                         */
                        server_learning_rate?: number;
                        /**
                         * @description a in (1 + staleness)^-a, the weight of a late update.
                         * @default 0.5
                         */
                        staleness_exponent?: number;
                        /**
                         * @description Updates that began more rounds ago are refused.
                         * @default 50
                         */
                        max_staleness?: number;
                    };
                    /** @description Default 10 */
                    rounds?: number;
                    /** @description Updates that a round needs, default 2 */
                    min_devices?: number;
                    /** @description Updates that a round wants; min_devices when absent, or as many as the strategy needs, or with privacy the least that works */
                    target_devices?: number;
                    /** @description So many times target_devices are selected; the round closes with the first target_devices updates */
                    over_selection?: number;
                    timeout_seconds?: number;
                    /** @description How long the rest is waited for once min_devices updates are in */
                    report_window_seconds?: number;
                    /** @description How long a round waits for min_devices active devices, default 3600 */
                    wait_for_devices_seconds?: number;
                    /** @description Id or name of a device group; only its members take part */
                    group?: string;
                    /** @description The same as group */
                    group_id?: string;
                    /** @description Id of a federation; devices of all active members take part */
                    federation?: string;
                    /** @description The same as federation */
                    federation_id?: string;
                    /** @description Handed to the devices, e.g. local_epochs, batch_size, learning_rate */
                    hyperparameters?: {
                        [key: string]: unknown;
                    };
                    privacy?: {
                        noise_multiplier?: number;
                        /** @description Over all rounds of this job */
                        target_epsilon?: number;
                        /** @description What epsilon is told at; 1e-5 when absent */
                        target_delta?: number;
                        clip_norm: number;
                        adaptive_clip?: boolean;
                    };
                    /** @description The service learns the sum of the updates and nothing of any single one */
                    secure_aggregation?: {
                        /** @description Devices that must stay to the end: more than half; two thirds of the selected when absent */
                        threshold?: number;
                        /** @description Bound on the change of a weight; 8 */
                        range?: number;
                        /** @description An update weighs its samples up to this; 1 */
                        max_weight?: number;
                    };
                    /** @description End when the best loss of the last `patience` rounds is hardly better than that of those before */
                    stop_when?: {
                        loss_improvement_below: number;
                        patience: number;
                    };
                    /** @description The model, where there is one, and the updates are bare little-endian float32 vectors */
                    raw_vector?: boolean;
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
                        /** @enum {string} */
                        status: "pending" | "running" | "completed" | "failed" | "stopped";
                        model_id: string | null;
                        latest_model_id: string | null;
                        /** @enum {string} */
                        strategy: "fedavg" | "fedprox" | "scaffold" | "krum" | "multikrum" | "fedmedian" | "fedtrimmedavg" | "fedopt" | "fedadam" | "ditto" | "fedbuff";
                        strategy_options: {
                            [key: string]: unknown;
                        };
                        rounds: number;
                        rounds_completed: number;
                        rounds_failed_in_a_row: number;
                        min_devices: number;
                        target_devices: number;
                        over_selection: number;
                        timeout_seconds: number;
                        report_window_seconds: number | null;
                        wait_for_devices_seconds: number;
                        group_id: string | null;
                        federation_id: string | null;
                        hyperparameters: {
                            [key: string]: unknown;
                        };
                        privacy: {
                            noise_multiplier: number;
                            /** @description As adaptive clipping has it now */
                            clip_norm: number;
                            adaptive_clip: boolean;
                        } | null;
                        secure_aggregation: {
                            /** @description Devices that must stay to the end: more than half; two thirds of the selected when absent */
                            threshold?: number;
                            /** @description Bound on the change of a weight; 8 */
                            range?: number;
                            /** @description An update weighs its samples up to this; 1 */
                            max_weight?: number;
                        } | null;
                        stop_when: {
                            loss_improvement_below: number;
                            patience: number;
                        } | null;
                        /** @description The model, where there is one, and the updates are bare little-endian float32 vectors */
                        raw_vector?: boolean;
                        ended_by: ("rounds_done" | "converged" | "budget_spent" | "rounds_failed" | "no_devices" | "cannot_start" | "stopped") | null;
                        reason: string | null;
                        waiting_until: string | null;
                        waiting_for: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        started_at: string | null;
                        ended_at: string | null;
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getTrainingJob: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                job_id: string;
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
                        /** @enum {string} */
                        status: "pending" | "running" | "completed" | "failed" | "stopped";
                        model_id: string | null;
                        latest_model_id: string | null;
                        /** @enum {string} */
                        strategy: "fedavg" | "fedprox" | "scaffold" | "krum" | "multikrum" | "fedmedian" | "fedtrimmedavg" | "fedopt" | "fedadam" | "ditto" | "fedbuff";
                        strategy_options: {
                            [key: string]: unknown;
                        };
                        rounds: number;
                        rounds_completed: number;
                        rounds_failed_in_a_row: number;
                        min_devices: number;
                        target_devices: number;
                        over_selection: number;
                        timeout_seconds: number;
                        report_window_seconds: number | null;
                        wait_for_devices_seconds: number;
                        group_id: string | null;
                        federation_id: string | null;
                        hyperparameters: {
                            [key: string]: unknown;
                        };
                        privacy: {
                            noise_multiplier: number;
                            /** @description As adaptive clipping has it now */
                            clip_norm: number;
                            adaptive_clip: boolean;
                        } | null;
                        secure_aggregation: {
                            /** @description Devices that must stay to the end: more than half; two thirds of the selected when absent */
                            threshold?: number;
                            /** @description Bound on the change of a weight; 8 */
                            range?: number;
                            /** @description An update weighs its samples up to this; 1 */
                            max_weight?: number;
                        } | null;
                        stop_when: {
                            loss_improvement_below: number;
                            patience: number;
                        } | null;
                        /** @description The model, where there is one, and the updates are bare little-endian float32 vectors */
                        raw_vector?: boolean;
                        ended_by: ("rounds_done" | "converged" | "budget_spent" | "rounds_failed" | "no_devices" | "cannot_start" | "stopped") | null;
                        reason: string | null;
                        waiting_until: string | null;
                        waiting_for: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        started_at: string | null;
                        ended_at: string | null;
                        /** @description What the noisy rounds started so far cost together, however they ended; absent without noise */
                        privacy_spent?: {
                            epsilon: number;
                            target_delta: number;
                            /**
                             * @description Which bound is the tighter one
                             * @enum {string}
                             */
                            accountant: "rdp" | "pld";
                            rounds: number;
                        };
                        /** @description The latest 100 rounds, oldest first */
                        history: {
                            /** Format: uuid */
                            round_id: string;
                            round_number: number;
                            /** @enum {string} */
                            status: "pending" | "active" | "aggregating" | "completed" | "failed";
                            loss: number | null;
                            accuracy: number | null;
                            completed_devices: number;
                            failed_devices: number;
                            aggregated_model_id: string | null;
                            failure_reason: string | null;
                            started_at: string | null;
                            ended_at: string | null;
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
    listTrainingJobRounds: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
            };
            header?: never;
            path: {
                job_id: string;
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
                            /**
                             * @description The aggregation rule; FedAvg when absent
                             * @enum {string}
                             */
                            strategy?: "fedavg" | "fedprox" | "scaffold" | "krum" | "multikrum" | "fedmedian" | "fedtrimmedavg" | "fedopt" | "fedadam" | "ditto" | "fedbuff";
                            strategy_options?: {
                                [key: string]: unknown;
                            };
                            /** Format: uuid */
                            job_id?: string;
                            /** Format: uuid */
                            group_id?: string;
                            /** Format: uuid */
                            federation_id?: string;
                            wanted_updates?: number;
                            privacy?: {
                                noise_multiplier: number;
                                clip_norm: number;
                                denominator: number;
                                sample_rate: number;
                                /**
                                 * @description Every eligible device has a coin of its own
                                 * @enum {string}
                                 */
                                sampling?: "poisson";
                                /** @description Eligible devices N; sample_rate is target_devices / N, both fixed before the draw */
                                population?: number;
                                /**
                                 * @description What epsilon speaks of: a device that takes part or sends nothing, N unchanged
                                 * @enum {string}
                                 */
                                adjacency?: "zero-out";
                                /**
                                 * Format: date-time
                                 * @description No update moves the end of the round
                                 */
                                closes_at?: string;
                                adaptive_clip: boolean;
                                target_delta?: number;
                                /** @description What the round costs by itself; costs do not add up */
                                epsilon?: number;
                                /**
                                 * @description Which bound is the tighter one
                                 * @enum {string}
                                 */
                                accountant?: "rdp" | "pld";
                            };
                            secure_aggregation?: {
                                devices: number;
                                threshold: number;
                                range: number;
                                max_weight: number;
                            };
                            /** @description The model, where there is one, and the updates are bare little-endian float32 vectors */
                            raw_vector?: boolean;
                            accuracy?: number | null;
                            loss?: number | null;
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
    stopTrainingJob: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                job_id: string;
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
                        /** @enum {string} */
                        status: "pending" | "running" | "completed" | "failed" | "stopped";
                        model_id: string | null;
                        latest_model_id: string | null;
                        /** @enum {string} */
                        strategy: "fedavg" | "fedprox" | "scaffold" | "krum" | "multikrum" | "fedmedian" | "fedtrimmedavg" | "fedopt" | "fedadam" | "ditto" | "fedbuff";
                        strategy_options: {
                            [key: string]: unknown;
                        };
                        rounds: number;
                        rounds_completed: number;
                        rounds_failed_in_a_row: number;
                        min_devices: number;
                        target_devices: number;
                        over_selection: number;
                        timeout_seconds: number;
                        report_window_seconds: number | null;
                        wait_for_devices_seconds: number;
                        group_id: string | null;
                        federation_id: string | null;
                        hyperparameters: {
                            [key: string]: unknown;
                        };
                        privacy: {
                            noise_multiplier: number;
                            /** @description As adaptive clipping has it now */
                            clip_norm: number;
                            adaptive_clip: boolean;
                        } | null;
                        secure_aggregation: {
                            /** @description Devices that must stay to the end: more than half; two thirds of the selected when absent */
                            threshold?: number;
                            /** @description Bound on the change of a weight; 8 */
                            range?: number;
                            /** @description An update weighs its samples up to this; 1 */
                            max_weight?: number;
                        } | null;
                        stop_when: {
                            loss_improvement_below: number;
                            patience: number;
                        } | null;
                        /** @description The model, where there is one, and the updates are bare little-endian float32 vectors */
                        raw_vector?: boolean;
                        ended_by: ("rounds_done" | "converged" | "budget_spent" | "rounds_failed" | "no_devices" | "cannot_start" | "stopped") | null;
                        reason: string | null;
                        waiting_until: string | null;
                        waiting_for: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        started_at: string | null;
                        ended_at: string | null;
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
    listUpdates: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
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
                        updates: {
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
                            /** @description The id that the device chose for itself */
                            device_identifier: string;
                            norm: number | null;
                            cosine: number | null;
                            non_finite: number | null;
                            weight: number | null;
                            staleness: number | null;
                            base_round_id: string | null;
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
                    /**
                     * Format: binary
                     * @description SCAFFOLD: the change of the device's control variate, laid out as the model; required there
                     */
                    control?: string;
                    num_samples: number;
                    /** @description A number beyond ±3.4e38 becomes null, with a warning; magnitudes below 1e-38 become 0 */
                    local_loss?: number;
                    local_accuracy?: number;
                    /** @description Above 2147483647 it becomes null, with a warning */
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
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
                        /**
                         * @description The aggregation rule; FedAvg when absent
                         * @enum {string}
                         */
                        strategy?: "fedavg" | "fedprox" | "scaffold" | "krum" | "multikrum" | "fedmedian" | "fedtrimmedavg" | "fedopt" | "fedadam" | "ditto" | "fedbuff";
                        strategy_options?: {
                            [key: string]: unknown;
                        };
                        /** Format: uuid */
                        job_id?: string;
                        /** Format: uuid */
                        group_id?: string;
                        /** Format: uuid */
                        federation_id?: string;
                        wanted_updates?: number;
                        privacy?: {
                            noise_multiplier: number;
                            clip_norm: number;
                            denominator: number;
                            sample_rate: number;
                            /**
                             * @description Every eligible device has a coin of its own
                             * @enum {string}
                             */
                            sampling?: "poisson";
                            /** @description Eligible devices N; sample_rate is target_devices / N, both fixed before the draw */
                            population?: number;
                            /**
                             * @description What epsilon speaks of: a device that takes part or sends nothing, N unchanged
                             * @enum {string}
                             */
                            adjacency?: "zero-out";
                            /**
                             * Format: date-time
                             * @description No update moves the end of the round
                             */
                            closes_at?: string;
                            adaptive_clip: boolean;
                            target_delta?: number;
                            /** @description What the round costs by itself; costs do not add up */
                            epsilon?: number;
                            /**
                             * @description Which bound is the tighter one
                             * @enum {string}
                             */
                            accountant?: "rdp" | "pld";
                        };
                        secure_aggregation?: {
                            devices: number;
                            threshold: number;
                            range: number;
                            max_weight: number;
                        };
                        /** @description The model, where there is one, and the updates are bare little-endian float32 vectors */
                        raw_vector?: boolean;
                        accuracy?: number | null;
                        loss?: number | null;
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    describeVariable: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                federation_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description A key of heartbeat metrics or capabilities (`battery_level`, `metrics.battery_level`, `capabilities.memory_gb`), of updates (`local_loss`, `local_accuracy`, `num_samples`, `training_time_seconds`), or `platform`, `status`, `federation_member` */
                    variable: string;
                    /** @enum {string} */
                    group_by?: "device_group" | "federation_member";
                    /** @description Ids or names of device groups, or ids of member organizations; all of them when absent */
                    group_ids?: string[];
                    /** @description true when absent */
                    include_percentiles?: boolean;
                    /** @description By the time of the heartbeat or update, and by platform. Unknown filters are warned of */
                    filters?: {
                        /** Format: date-time */
                        start_time?: string;
                        /** Format: date-time */
                        end_time?: string;
                        /** @description The same as start_time and end_time */
                        time_range?: {
                            /** Format: date-time */
                            start?: string;
                            /** Format: date-time */
                            end?: string;
                        };
                        platform?: ("ios" | "android" | "macos" | "linux" | "windows" | "browser" | "python" | "unknown") | ("ios" | "android" | "macos" | "linux" | "windows" | "browser" | "python" | "unknown")[];
                        /** @description Withholds groups of fewer devices; 5 at least */
                        min_sample_count?: number;
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
                        query_id: string;
                        /** Format: uuid */
                        federation_id: string;
                        /** @enum {string} */
                        query_type: "descriptive" | "t-test" | "anova" | "chi-square";
                        variable: string;
                        /** @enum {string} */
                        status: "completed" | "failed";
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        groups: {
                            group_id: string;
                            count: number;
                            mean: number;
                            std_dev: number | null;
                            median: number | null;
                            min: number;
                            max: number;
                            percentiles: {
                                p25: number | null;
                                p50: number | null;
                                p75: number | null;
                            } | null;
                        }[];
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    compareTwoGroups: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                federation_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description A key of heartbeat metrics or capabilities (`battery_level`, `metrics.battery_level`, `capabilities.memory_gb`), of updates (`local_loss`, `local_accuracy`, `num_samples`, `training_time_seconds`), or `platform`, `status`, `federation_member` */
                    variable: string;
                    group_a: string;
                    group_b: string;
                    /**
                     * @description When absent: members if both groups are ids of members, else device groups
                     * @enum {string}
                     */
                    group_by?: "device_group" | "federation_member";
                    /** @description 0.95 when absent */
                    confidence_level?: number;
                    /** @description By the time of the heartbeat or update, and by platform. Unknown filters are warned of */
                    filters?: {
                        /** Format: date-time */
                        start_time?: string;
                        /** Format: date-time */
                        end_time?: string;
                        /** @description The same as start_time and end_time */
                        time_range?: {
                            /** Format: date-time */
                            start?: string;
                            /** Format: date-time */
                            end?: string;
                        };
                        platform?: ("ios" | "android" | "macos" | "linux" | "windows" | "browser" | "python" | "unknown") | ("ios" | "android" | "macos" | "linux" | "windows" | "browser" | "python" | "unknown")[];
                        /** @description Withholds groups of fewer devices; 5 at least */
                        min_sample_count?: number;
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
                        query_id: string;
                        /** Format: uuid */
                        federation_id: string;
                        /** @enum {string} */
                        query_type: "descriptive" | "t-test" | "anova" | "chi-square";
                        variable: string;
                        /** @enum {string} */
                        status: "completed" | "failed";
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        t_statistic: number | null;
                        p_value: number | null;
                        degrees_of_freedom: number | null;
                        confidence_interval: {
                            lower: number;
                            upper: number;
                            level: number;
                        } | null;
                        significant: boolean;
                        effect_size: number | null;
                        groups: {
                            group_id: string;
                            count: number;
                            mean: number;
                            std_dev: number | null;
                        }[];
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    compareGroups: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                federation_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description A key of heartbeat metrics or capabilities (`battery_level`, `metrics.battery_level`, `capabilities.memory_gb`), of updates (`local_loss`, `local_accuracy`, `num_samples`, `training_time_seconds`), or `platform`, `status`, `federation_member` */
                    variable: string;
                    /** @enum {string} */
                    group_by?: "device_group" | "federation_member";
                    /** @description Ids or names of device groups, or ids of member organizations; all of them when absent */
                    group_ids?: string[];
                    /** @description 0.95 when absent */
                    confidence_level?: number;
                    /** @description Tukey's test of every pair, of at most 50 groups; true when absent */
                    post_hoc?: boolean;
                    /** @description By the time of the heartbeat or update, and by platform. Unknown filters are warned of */
                    filters?: {
                        /** Format: date-time */
                        start_time?: string;
                        /** Format: date-time */
                        end_time?: string;
                        /** @description The same as start_time and end_time */
                        time_range?: {
                            /** Format: date-time */
                            start?: string;
                            /** Format: date-time */
                            end?: string;
                        };
                        platform?: ("ios" | "android" | "macos" | "linux" | "windows" | "browser" | "python" | "unknown") | ("ios" | "android" | "macos" | "linux" | "windows" | "browser" | "python" | "unknown")[];
                        /** @description Withholds groups of fewer devices; 5 at least */
                        min_sample_count?: number;
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
                        query_id: string;
                        /** Format: uuid */
                        federation_id: string;
                        /** @enum {string} */
                        query_type: "descriptive" | "t-test" | "anova" | "chi-square";
                        variable: string;
                        /** @enum {string} */
                        status: "completed" | "failed";
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        f_statistic: number | null;
                        p_value: number | null;
                        degrees_of_freedom_between: number | null;
                        degrees_of_freedom_within: number | null;
                        significant: boolean;
                        effect_size: number | null;
                        post_hoc_pairs: {
                            group_a: string;
                            group_b: string;
                            /** @description group_a's mean minus group_b's */
                            mean_difference: number;
                            /** @description Of Tukey and Kramer: adjusted for the number of pairs */
                            p_value: number;
                            significant: boolean;
                        }[];
                        groups: {
                            group_id: string;
                            count: number;
                            mean: number;
                            std_dev: number | null;
                        }[];
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    testIndependence: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                federation_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description A key of heartbeat metrics or capabilities (`battery_level`, `metrics.battery_level`, `capabilities.memory_gb`), of updates (`local_loss`, `local_accuracy`, `num_samples`, `training_time_seconds`), or `platform`, `status`, `federation_member` */
                    variable_1: string;
                    /** @description A key of heartbeat metrics or capabilities (`battery_level`, `metrics.battery_level`, `capabilities.memory_gb`), of updates (`local_loss`, `local_accuracy`, `num_samples`, `training_time_seconds`), or `platform`, `status`, `federation_member` */
                    variable_2: string;
                    /** @description 0.95 when absent */
                    confidence_level?: number;
                    /** @description By the time of the heartbeat or update, and by platform. Unknown filters are warned of */
                    filters?: {
                        /** Format: date-time */
                        start_time?: string;
                        /** Format: date-time */
                        end_time?: string;
                        /** @description The same as start_time and end_time */
                        time_range?: {
                            /** Format: date-time */
                            start?: string;
                            /** Format: date-time */
                            end?: string;
                        };
                        platform?: ("ios" | "android" | "macos" | "linux" | "windows" | "browser" | "python" | "unknown") | ("ios" | "android" | "macos" | "linux" | "windows" | "browser" | "python" | "unknown")[];
                        /** @description Withholds groups of fewer devices; 5 at least */
                        min_sample_count?: number;
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
                        query_id: string;
                        /** Format: uuid */
                        federation_id: string;
                        /** @enum {string} */
                        query_type: "descriptive" | "t-test" | "anova" | "chi-square";
                        variable: string;
                        /** @enum {string} */
                        status: "completed" | "failed";
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        chi_square_statistic: number | null;
                        p_value: number | null;
                        degrees_of_freedom: number | null;
                        cramers_v: number | null;
                        significant: boolean;
                        sample_size: number | null;
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
            /** @description The disk of the service is full; nothing was kept */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listAnalyticsQueries: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
            };
            header?: never;
            path: {
                federation_id: string;
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
                        queries: {
                            /** Format: uuid */
                            id: string;
                            /** Format: uuid */
                            federation_id: string;
                            org_id: string | null;
                            /** @enum {string} */
                            query_type: "descriptive" | "t-test" | "anova" | "chi-square";
                            variable: string;
                            request: {
                                [key: string]: unknown;
                            };
                            /** @enum {string} */
                            status: "completed" | "failed";
                            result: {
                                [key: string]: unknown;
                            } | null;
                            reason: string | null;
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
    getAnalyticsQuery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                federation_id: string;
                query_id: string;
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
                        /** Format: uuid */
                        federation_id: string;
                        org_id: string | null;
                        /** @enum {string} */
                        query_type: "descriptive" | "t-test" | "anova" | "chi-square";
                        variable: string;
                        request: {
                            [key: string]: unknown;
                        };
                        /** @enum {string} */
                        status: "completed" | "failed";
                        result: {
                            [key: string]: unknown;
                        } | null;
                        reason: string | null;
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
}
