import CDModel
import CDRuntime
import Testing

@testable import CDCoreDataStore

@Suite("Values of Core Data's columns") struct ValueReaderTests {
  /// A Float keeps seven digits, whatever form SQLite has stored the number in.
  @Test func aFloatIsRounded() throws {
    let version = ModelVersion(
      number: 1,
      entities: [
        EntityDescription(
          name: "Sample",
          attributes: [
            AttributeDescription(name: "single", type: .float),
            AttributeDescription(name: "twice", type: .double),
          ])
      ])
    let graph = EntityGraph(version)
    let readers = graph.columns(of: "Sample").compactMap {
      ValueReader($0, graph, ExternalRecords(store: "/Shelf.sqlite"))
    }
    #expect(try readers.map { try $0.value(.integer(16_777_217)) } == [.real(16_777_216), .real(16_777_217)])
    #expect(try readers.map { try $0.value(.real(16_777_217)) } == [.real(16_777_216), .real(16_777_217)])
    #expect(try readers.map { try $0.value(.real(-.infinity)) } == [.real(-.infinity), .real(-.infinity)])
  }
}
