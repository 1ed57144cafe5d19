import CDModel
import SampleModels
import Testing

@Suite("Rules as JSON")
struct MappingRulesJSONTests {
  @Test func `A model carries its mappings`() throws {
    var model = try SampleModel.model()
    let bare = model.canonicalJSON
    model.mappings = [
      MappingRules(
        source: 1, destination: 2,
        entities: [
          EntityRule(
            destination: "Person", source: "Contact", name: "Persons", isCustom: true,
            filter: try FetchPredicate(format: "years >= 10"),
            attributes: [
              PropertyMapping(name: "name", value: try ValueExpression(format: "first + ' ' + last"))
            ], relationships: [PropertyMapping(name: "employer", value: .keyPath("company"))],
            drops: ["note"], undecided: [UndecidedPart("score", note: "by code")])
        ], drops: ["Log"],
        duplicates: [DuplicateRule(entity: "Person", properties: ["name", "city"], survivor: .keepLast)]),
      MappingRules(source: 2, destination: 3),
    ]
    let text = model.canonicalJSON
    #expect(try ManagedObjectModel(canonicalJSON: text) == model)
    #expect(
      text.hasPrefix(bare.dropLast())
        && text.hasSuffix(
          #","mappings":[{"from":1,"to":2,"entities":[{"entity":"Person","from":"Contact","name":"Persons","custom":true,"#
            + #""where":"years >= 10","attributes":[{"name":"name","value":"(first + \" \") + last"}],"#
            + #""relationships":[{"name":"employer","value":"company"}],"drop":["note"],"#
            + #""undecided":[{"name":"score","note":"by code"}]}],"drop":["Log"],"#
            + #""onDuplicate":[{"entity":"Person","unique":["name","city"],"survivor":"keepLast"}]},{"from":2,"to":3}]}"#
        ))
  }

  @Test func `What is no rule is refused`() throws {
    let model = try SampleModel.model().canonicalJSON.dropLast() + #","mappings":[{"from":1}]}"#
    #expect(throws: ModelDecodingError(.missingMember("to"), path: "mappings[0]")) {
      try ManagedObjectModel(canonicalJSON: String(model))
    }
  }
}
