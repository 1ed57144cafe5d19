import CDModel
import SampleModels
import SeededRandom
import Testing

@Suite("Models as JSON")
struct ModelJSONTests {
  @Test func `The text of a model with every construct is fixed`() throws {
    let model = try SampleModel.model()
    #expect(model.canonicalJSON == Self.sampleText)
    #expect(try ManagedObjectModel(canonicalJSON: Self.sampleText) == model)
  }

  @Test func `A version alone has a text of its own`() throws {
    let version = ModelVersion(number: 3, entities: [EntityDescription(name: "A")])
    let text = #"{"formatVersion":1,"number":3,"entities":[{"name":"A"}]}"#
    #expect(version.canonicalJSON == text)
    #expect(try ModelVersion(canonicalJSON: text) == version)
    let sample = try SampleModel.version()
    #expect(try ModelVersion(canonicalJSON: sample.canonicalJSON) == sample)
  }

  @Test func `White space and the order of members do not matter`() throws {
    let text = """
      { "versions": [ { "entities": [ { "abstract": true, "name": "A" } ], "number": 1 } ],
        "id": "00010203-0405-0607-0809-0a0b0c0d0e0f", "current": 1, "name": "M", "formatVersion": 1 }
      """
    let model = try ManagedObjectModel(canonicalJSON: text)
    #expect(
      model.versions == [ModelVersion(number: 1, entities: [EntityDescription(name: "A", isAbstract: true)])])
    #expect(
      model.canonicalJSON
        == #"{"formatVersion":1,"name":"M","id":"00010203-0405-0607-0809-0A0B0C0D0E0F","current":1,"#
        + #""versions":[{"number":1,"entities":[{"name":"A","abstract":true}]}]}"#)
  }

  @Test(arguments: 0..<(isThorough ? 200 : 60) as Range<UInt64>)
  func `Any model reads back as the same`(seed: UInt64) throws {
    var random = RandomModels(seed: seed)
    let model = try random.model()
    let text = model.canonicalJSON
    let read = try ManagedObjectModel(canonicalJSON: text)
    #expect(read == model)
    #expect(read.canonicalJSON == text)
    #expect(read.versions.map(\.hashes) == model.versions.map(\.hashes))
  }

  @Test func `No member is ignored`() throws {
    let model = try SampleModel.model()
    let json = model.jsonValue
    let removals = json.changingOneObject { members in
      members.indices.map { place in
        var rest = members
        rest.remove(at: place)
        return rest
      }
    }
    for removal in removals {
      if let read = try? ManagedObjectModel(jsonValue: removal) { #expect(read != model) }
    }
    #expect(removals.count > 200)
    let additions = json.changingOneObject { [$0 + [JSONValue.Member("stray", .null)]] }
    for addition in additions {
      #expect(throws: ModelDecodingError.self) { try ManagedObjectModel(jsonValue: addition) }
    }
    #expect(additions.count > 60)
  }

  @Test func `No damage to a text makes reading trap`() throws {
    let text = Array(Self.sampleText.utf8)
    var random = SplitMix(seed: 3)
    var refused = 0
    for _ in 0..<200 {
      var damaged = text
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let place = Int.random(in: 0..<damaged.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: damaged.remove(at: place)
        case 1: damaged[place] = text[Int.random(in: 0..<text.count, using: &random)]
        default: damaged.removeSubrange(place..<min(place + 20, damaged.count))
        }
      }
      do {
        let model = try ManagedObjectModel(canonicalJSON: String(decoding: damaged, as: UTF8.self))
        // A letter of a name or a comment: what is read is written as it was read.
        #expect(try ManagedObjectModel(canonicalJSON: model.canonicalJSON) == model)
      } catch {
        refused += 1
      }
    }
    #expect(refused > 100 && refused < 200)
  }

  // MARK: Errors

  @Test(arguments: [
    ("", "this is not JSON: byte 0: the text ends too early"),
    ("[]", "expected an object, found a list"),
    ("{}", "the member 'formatVersion' is missing"),
    (#"{"formatVersion":"1"}"#, "formatVersion: expected an integer, found a string"),
    (
      #"{"formatVersion":2,"whatever":3}"#,
      "formatVersion: this has format version 2, but this release of cdgen reads version 1; "
        + "compile the model with the same release"
    ),
    (#"{"formatVersion":1}"#, "the member 'name' is missing"),
    (#"{"formatVersion":1,"name":"M","id":"x"}"#, "id: expected a UUID, found 'x'"),
  ])
  func `What is no model is refused`(text: String, message: String) {
    #expect(throws: ModelDecodingError.self) { try ManagedObjectModel(canonicalJSON: text) }
    do {
      _ = try ManagedObjectModel(canonicalJSON: text)
    } catch {
      #expect(error.description == message)
    }
  }

  @Test(arguments: [
    (#"{"name":"A","colour":1}"#, "entities[0]: format version 1 has no member 'colour' here"),
    (#"{}"#, "entities[0]: the member 'name' is missing"),
    (#"{"name":1}"#, "entities[0].name: expected a string, found an integer"),
    (#"{"name":"A","abstract":1}"#, "entities[0].abstract: expected a Boolean, found an integer"),
    (#"{"name":"A","attributes":{}}"#, "entities[0].attributes: expected a list, found an object"),
    (#"{"name":"A","info":{"a":1}}"#, "entities[0].info.a: expected a string, found an integer"),
    (
      #"{"name":"A","attributes":[{"name":"a","type":"Text"}]}"#,
      "entities[0].attributes[0].type: expected the name of a type, found 'Text'"
    ),
    (
      #"{"name":"A","attributes":[{"name":"a","type":{}}]}"#,
      "entities[0].attributes[0].type: the member 'enum' is missing"
    ),
    (
      #"{"name":"A","attributes":[{"name":"a","type":{"enum":"E","codec":1}}]}"#,
      "entities[0].attributes[0].type: format version 1 has no member 'codec' here"
    ),
    (
      #"{"name":"A","attributes":[{"name":"a","type":{"codable":"T"}}]}"#,
      "entities[0].attributes[0].type: the member 'codec' is missing"
    ),
    (
      #"{"name":"A","attributes":[{"name":"a","type":7}]}"#,
      "entities[0].attributes[0].type: expected a type, found an integer"
    ),
    (
      #"{"name":"A","attributes":[{"name":"a","type":"Date","default":{"$function":"then"}}]}"#,
      #"entities[0].attributes[0].default: expected now or uuid, found '"then"'"#
    ),
    (
      #"{"name":"A","attributes":[{"name":"a","type":"Date","default":{"$date":"x"}}]}"#,
      "entities[0].attributes[0].default.$date: expected a number, found a string"
    ),
    (
      #"{"name":"A","relationships":[{"name":"r","to":"A","onDelete":"explode"}]}"#,
      "entities[0].relationships[0].onDelete: expected one of nullify, cascade, deny, noAction, found 'explode'"
    ),
    (
      #"{"name":"A","unique":[["a"],[true]]}"#, "entities[0].unique[1][0]: expected a string, found a Boolean"
    ),
    (
      #"{"name":"A","indexes":[{"elements":[{"key":"a","descending":null}]}]}"#,
      "entities[0].indexes[0].elements[0].descending: expected a Boolean, found null"
    ),
  ])
  func `An error names the element`(entity: String, message: String) {
    let text = #"{"formatVersion":1,"number":1,"entities":[\#(entity)]}"#
    do {
      _ = try ModelVersion(canonicalJSON: text)
      Issue.record("read")
    } catch {
      #expect(error.description == message)
    }
  }

  @Test func `A predicate that cannot be parsed is an error at its place`() {
    let text =
      #"{"formatVersion":1,"number":1,"entities":[{"name":"A","fetches":[{"name":"f","where":""}]}]}"#
    do {
      _ = try ModelVersion(canonicalJSON: text)
      Issue.record("read")
    } catch {
      #expect(error.path == "entities[0].fetches[0].where")
      guard case .invalidExpression(text: "", message: _) = error.reason else {
        Issue.record("\(error)")
        return
      }
    }
  }
}

extension JSONValue {
  /// All values in which one object, this one or one inside it, is changed: a value for each change of each.
  fileprivate func changingOneObject(_ changes: ([Member]) -> [[Member]]) -> [JSONValue] {
    var result: [JSONValue] = []
    switch self {
    case .array(let elements):
      for place in elements.indices {
        for changed in elements[place].changingOneObject(changes) {
          var copy = elements
          copy[place] = changed
          result.append(.array(copy))
        }
      }
    case .object(let members):
      result = changes(members).map(JSONValue.object)
      for place in members.indices {
        for changed in members[place].value.changingOneObject(changes) {
          var copy = members
          copy[place].value = changed
          result.append(.object(copy))
        }
      }
    default: break
    }
    return result
  }
}
