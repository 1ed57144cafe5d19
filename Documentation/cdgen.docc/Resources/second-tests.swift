import CDMigrationTesting
import CDRuntime
import Foundation
import Testing

@testable import Plants

@Suite struct PlantsMigrationTests {
  @Test func version1BecomesVersion2() throws {
    let old = try VersionedStore(of: PlantsModel.self, version: 1)
    try old.insertSamples()
    let new = try old.migrated(to: 2)
    #expect(try new.differences(from: old) == [])
  }

  @Test func heightsBecomeNumbers() throws {
    let old = try VersionedStore(of: PlantsModel.self, version: 1)
    try old.insert("Plant", ["name": "Basil", "height": "20"])
    try old.insert("Plant", ["name": "Cactus", "height": "tall"])
    try old.insert("Plant", ["name": "Fern", "height": nil])
    let context = try old.migrated().newContext()
    let plants = try Plant.fetch(sortedBy: \.name, in: context)
    #expect(plants.map(\.height) == [20, nil, nil])
    #expect(plants.map(\.waterEvery) == [7, 7, 7])
  }
}
