// Tests of the migrations of ToDo to version 2.
//
// Begun by 'cdgen stub --tests', and from here on yours.
import CDMigrationTesting
import CDRuntime
import Foundation
import Testing

@Suite struct ToDoMigrationTests {
  @Test func version1BecomesVersion2() throws {
    let old = try VersionedStore(of: ToDoModel.self, version: 1)
    // An object of each entity, with a value for every attribute. Add those that matter to your app:
    // try old.insert("…", ["…": …])
    try old.insertSamples()
    let new = try old.migrated(to: 2)
    // What rules and inference leave as it was, object by object.
    #expect(try new.differences(from: old) == [])
  }
}
