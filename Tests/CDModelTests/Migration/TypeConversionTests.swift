import CDModel
import Testing

@Suite("Conversions of types")
struct TypeConversionTests {
  private static let types = AttributeType.named.map(\.type)

  @Test func `Every pair of types has one answer, and that of equal types is identical`() {
    let graph = EntityGraph(ModelVersion(number: 1))
    for old in Self.types {
      for new in Self.types {
        let conversion = TypeConversion(from: old, in: graph, to: new, in: graph)
        #expect((conversion == .identical) == (old == new))
      }
    }
  }

  @Test(arguments: [
    (AttributeType.int16, AttributeType.int32, TypeConversion.lossless), (.int32, .int16, .partial),
    (.int64, .decimal, .lossless), (.int64, .double, .inexact), (.int32, .double, .lossless),
    (.double, .float, .inexact), (.decimal, .double, .inexact), (.double, .decimal, .partial),
    (.bool, .int64, .lossless), (.int64, .bool, .partial), (.int16, .string, .lossless),
    (.string, .int16, .partial), (.date, .string, .inexact), (.string, .date, .partial),
    (.date, .double, .lossless), (.double, .date, .lossless), (.int64, .date, .inexact),
    (.uuid, .string, .lossless), (.uuid, .data, .lossless), (.data, .uuid, .partial),
    (.url, .string, .lossless), (.data, .string, .lossless), (.string, .data, .partial),
    (.data, .bool, .impossible), (.url, .data, .impossible), (.date, .uuid, .impossible),
    (.codable(type: "A", codec: 1), .codable(type: "A", codec: 1), .identical),
    (.codable(type: "A", codec: 1), .codable(type: "A", codec: 2), .impossible),
    (.codable(type: "A", codec: 1), .string, .impossible),
  ])
  func `The table of the documentation`(old: AttributeType, new: AttributeType, wanted: TypeConversion) {
    let graph = EntityGraph(ModelVersion(number: 1))
    #expect(TypeConversion(from: old, in: graph, to: new, in: graph) == wanted)
  }
}
