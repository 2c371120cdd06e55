// Names of databases as branches, tags, commits and snapshots show them: shop@dev.
//
// A name has `.` and `/` of the state's name written as %2E and %2F; commands take the plain name.
export const escapeState = (state: string): string => state.replace(/[./]/g, one => "%" + one.charCodeAt(0).toString(16).toUpperCase());

// "main" and "" are the database under its own name, which works before its first branch too.
export const databaseAt = (db: string, state: string): string => (state === "" || state === "main" ? db : `${db}@${escapeState(state)}`);

export const baseOf = (db: string): string => db.split("@", 1)[0]!;
