// Tests of the migrations of ToDo to version 2.
//
// 'cdgen stub --tests' has written the beginning of this file, and never changes it again.
import CDMigrationTesting
import CDRuntime
import Foundation
import Testing

@Suite struct ToDoMigrationTests {
  @Test func version1BecomesVersion2() throws {
    let old = try VersionedStore(of: ToDoModel.self, version: 1)
    // Inserts an object of each entity, with a value for every attribute. Add objects that matter to your app:
    // try old.insert("…", ["…": …])
    try old.insertSamples()
    let new = try old.migrated(to: 2)
    // Compares, object by object, the values that rules and inference leave unchanged.
    #expect(try new.differences(from: old) == [])
  }
}
