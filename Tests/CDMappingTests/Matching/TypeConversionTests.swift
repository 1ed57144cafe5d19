import CDMapping
import CDModel
import Testing

@Suite("Conversions of types")
struct TypeConversionTests {
  private static let types = AttributeType.named.map(\.type)

  /// A row a type of before, a letter a type of now in the same order: `=` identical, `l`ossless, `i`nexact,
  /// `p`artial, `-` none.
  @Test func `Every pair of types`() {
    let graph = EntityGraph(ModelVersion(number: 1))
    let letters: [TypeConversion: Character] = [
      .identical: "=", .lossless: "l", .inexact: "i", .partial: "p", .impossible: "-",
    ]
    let rows = Self.types.map { old in
      String(
        Self.types.map { letters[TypeConversion(from: old, in: graph, to: $0, in: graph)] ?? "?" })
    }
    #expect(
      rows == [
        "=ppppppppppp",  // String
        "l=llllllp---",  // Bool
        "lp=llllll---",  // Int16
        "lpp=lilll---",  // Int32
        "lppp=iili---",  // Int64
        "lpppp=lpp---",  // Float
        "lppppi=pp---",  // Double
        "lppppii=i---",  // Decimal
        "ippppplp=---",  // Date
        "l--------=p-",  // Data
        "l--------l=-",  // UUID
        "l----------=",  // URL
      ])
  }

  @Test(arguments: [
    (
      AttributeType.codable(type: "A", codec: 1), AttributeType.codable(type: "A", codec: 1),
      TypeConversion.identical
    ),
    (.codable(type: "A", codec: 1), .codable(type: "A", codec: 2), .impossible),
    (.codable(type: "A", codec: 1), .codable(type: "B", codec: 1), .impossible),
    (.codable(type: "A", codec: 1), .string, .impossible),
    (.data, .codable(type: "A", codec: 1), .impossible),
    (.composite("A"), .composite("A"), .impossible), (.composite("A"), .string, .impossible),
    (.enumeration("Small"), .int16, .identical), (.int16, .enumeration("Small"), .identical),
    (.enumeration("Small"), .int64, .lossless), (.enumeration("Small"), .enumeration("Text"), .lossless),
    (.enumeration("Text"), .enumeration("Small"), .partial), (.enumeration("Text"), .string, .identical),
  ])
  func `Types with a name of their own`(old: AttributeType, new: AttributeType, wanted: TypeConversion) {
    let graph = EntityGraph(
      ModelVersion(
        number: 1,
        enums: [
          EnumDescription(name: "Small", rawType: .int16, cases: []),
          EnumDescription(name: "Text", rawType: .string, cases: []),
        ]))
    #expect(TypeConversion(from: old, in: graph, to: new, in: graph) == wanted)
  }
}
