// Tests of the migrations of CustomMigrationMany to version 3.
//
// 'cdgen stub --tests' has written the beginning of this file, and never changes it again.
import CDMigrationTesting
import CDRuntime
import Foundation
import Testing

@Suite struct CustomMigrationManyMigrationTests {
  @Test func version1BecomesVersion3() throws {
    let old = try VersionedStore(
      of: CustomMigrationManyModel.self, version: 1, migrations: { CustomMigrationManyMigrations() })
    // Inserts an object of each entity, with a value for every attribute. Add objects that matter to your app:
    // try old.insert("…", ["…": …])
    try old.insertSamples()
    let new = try old.migrated(to: 3)
    // Compares, object by object, the values that rules and inference leave unchanged.
    #expect(try new.differences(from: old) == [])
    // By the second step: below.
    #expect(try new.count(of: "Record") == 1)
    // A sample visitor is a guest.
    #expect(try new.count(of: "Reader") == 1)
    // And so is a sample keeper.
    #expect(try new.count(of: "Guest") == 2)
    #expect(try new.count(of: "Statistic") == 2)
    #expect(try new.objects(of: "Novel").map { try $0.value(forKey: "chapters").attribute } == [.int(1)])
    // Above.
  }

  @Test func version2BecomesVersion3() throws {
    let old = try VersionedStore(
      of: CustomMigrationManyModel.self, version: 2, migrations: { CustomMigrationManyMigrations() })
    // Inserts an object of each entity, with a value for every attribute. Add objects that matter to your app:
    // try old.insert("…", ["…": …])
    try old.insertSamples()
    let new = try old.migrated(to: 3)
    // Compares, object by object, the values that rules and inference leave unchanged.
    #expect(try new.differences(from: old) == [])
    #expect(try new.objects(of: "Novel").map { try $0.value(forKey: "chapters").attribute } == [.int(1)])
    #expect(try new.count(of: "Reader") == 1)
  }
}
