import CDRuntime
import Foundation

extension Mistake {
  /// The mistakes of the test, each with the place, the cause and the remedy that its message must contain.
  static let all: [Mistake] = schema + versions + conditions + calls + commands

  private static let schema = [
    Mistake(
      "a misspelt type", .schema("height: Duoble?", insteadOf: "height: Double?"),
      place: "P.cdmodel/1.yaml:5:15: ", cause: "unknown type 'Duoble'", remedy: "did you mean 'Double'?"),
    Mistake(
      "a misspelt key with many lines under it",
      .schema("atributes:\n      name", insteadOf: "attributes:\n      name"),
      place: "P.cdmodel/1.yaml:3:5: ", cause: "unknown key 'atributes'",
      remedy: "did you mean 'attributes'?"),
    Mistake(
      "a key of another tool", .schema("minimum: 1,", insteadOf: "min: 1,"),
      place: "P.cdmodel/1.yaml:6:40: ", cause: "unknown key 'minimum'", remedy: "it is 'min' here"),
    Mistake(
      "a misspelt destination", .schema("to: \"Rom?\"", insteadOf: "to: \"Room?\""),
      place: "P.cdmodel/1.yaml:10:19: ", cause: "unknown entity 'Rom'", remedy: "did you mean 'Room'?"),
    Mistake(
      "a misspelt attribute of a constraint", .schema("[[nam]]", insteadOf: "[[name]]"),
      place: "P.cdmodel/1.yaml:15:15: ", cause: "'Room' has no property 'nam'",
      remedy: "did you mean 'name'?"),
    Mistake(
      "a misspelt delete rule", .schema("onDelete: denny", insteadOf: "onDelete: deny"),
      place: "P.cdmodel/1.yaml:17:55: ", cause: "unknown delete rule 'denny'", remedy: "did you mean 'deny'?"),
    Mistake(
      "a default of another type", .schema("default: seven", insteadOf: "default: 7"),
      place: "P.cdmodel/1.yaml:6:37: ", cause: "not 'seven'", remedy: "an integer in decimal digits"),
    Mistake(
      "a default that is no case", .schema("default: sunny", insteadOf: "default: sun"),
      place: "P.cdmodel/1.yaml:7:38: ", cause: "enum 'Light' has no case 'sunny'",
      remedy: "its cases are shade, sun"),
    Mistake(
      "bounds in the wrong order", .schema("min: 90,", insteadOf: "min: 1,"),
      place: "P.cdmodel/1.yaml:6:54: ", cause: "the maximum 60 is below the minimum 90",
      remedy: "raise the maximum or lower the minimum"),
    Mistake(
      "a misspelt attribute in a predicate", .schema("where: heigth > 100", insteadOf: "where: height > 100"),
      place: "P.cdmodel/1.yaml:12:22: ", cause: "Plant has no 'heigth'", remedy: "did you mean 'height'?"),
    Mistake(
      "a text in place of a number in a predicate",
      .schema("where: height > 'tall'", insteadOf: "where: height > 100"),
      place: "P.cdmodel/1.yaml:12:22: ", cause: "'height' (Double) cannot be ordered against \"tall\"",
      remedy: "compare it with a number"),
    Mistake(
      "a class that hides a type of SwiftUI",
      .model { folder in
        let text = version.replacing("Plant:", with: "Text:").replacing("[Plant]", with: "[Text]")
        try makeModel(text, in: folder)
      },
      place: "P.cdmodel/1.yaml:2:3: ", cause: "class 'Text' hides SwiftUI's 'Text'",
      remedy: "choose another name with 'class:'"),
    Mistake(
      "a name that generated code needs", .schema("objectID: String?", insteadOf: "note: String?"),
      place: "P.cdmodel/1.yaml:8:7: ", cause: "'objectID' is taken", remedy: "swiftName: plantObjectID"),
    Mistake(
      "no blank after a colon", .schema("name:String\n", insteadOf: "name: String\n"),
      place: "P.cdmodel/1.yaml:4:7: ", cause: "'name:String' is not a key and value",
      remedy: "write a blank after the colon: 'name: String'"),
    Mistake(
      "a tab in the indentation",
      .schema("\tname: String\n      height", insteadOf: "      name: String\n      height"),
      place: "P.cdmodel/1.yaml:4:1: ", cause: "a tab in the indentation", remedy: "indented with blanks"),
  ]

  private static let versions = [
    Mistake(
      "a change of a released version",
      .model { folder in
        try makeModel(in: folder)
        _ = try BuiltTool.cdgen.run("lock", "P.cdmodel", in: folder.url)
        try folder.write(version.replacing("height: Double?", with: "height: Float?"), to: "P.cdmodel/1.yaml")
      },
      place: "P.cdmodel/1.yaml:5:7: ",
      cause: "version 1 is locked, and attribute 'height' of 'Plant' was changed",
      remedy: "undo this, and change a new version ('cdgen add-version')"),
    Mistake(
      "a new mandatory attribute without a value",
      .model {
        try makeSecondVersion("height: Double?\n      size: Int16", insteadOf: "height: Double?", in: $0)
      },
      place: "P.cdmodel/2.yaml:6:7: ", cause: "attribute 'size' of 'Plant' is new: it is mandatory",
      remedy: "give it a default, or make it optional"),
    Mistake(
      "a renamed attribute without its old name",
      .model { try makeSecondVersion("remark: String?", insteadOf: "note: String?", in: $0) },
      place: "P.cdmodel/1.yaml:8:7: ", cause: "attribute 'note' of 'Plant' is gone from version 2",
      remedy: "if it was renamed, write 'renamedFrom: note' for 'remark'"),
    Mistake(
      "a misspelt attribute in a mapping",
      .model {
        try makeSecondVersion(
          "note: Int16?", insteadOf: "note: String?",
          mapping: "entities:\n  Plant:\n    attributes:\n      note: CAST(nte, 'Int16', nil)\n", in: $0)
      },
      place: "P.cdmodel/1-2.mapping.yaml:4:18: ", cause: "Plant has no 'nte'",
      remedy: "did you mean 'note'?"),
  ]

  private static let conditions = [
    Mistake(
      "a misspelt attribute in a condition", .condition("nmae == 'Basil'"),
      place: "(character 1)", cause: "Plant has no 'nmae'", remedy: "did you mean 'name'?"),
    Mistake(
      "a text without quotes", .condition("name == Basil"),
      place: "(character 9)", cause: "Plant has no 'Basil'", remedy: "a text is written in quotes: 'Basil'"),
    Mistake(
      "a misspelt operator", .condition("days BETWEN {1, 9}"),
      place: "(character 6)", cause: "found 'BETWEN'", remedy: "did you mean 'BETWEEN'?"),
    Mistake(
      "a condition that ends too early", .condition("days > 1 AND"),
      place: "(character 13)", cause: "found end of text", remedy: "expected a comparison after 'AND'"),
    Mistake(
      "a text without a closing quote", .condition("name == 'Basil"),
      place: "(character 9)", cause: "the string that begins here", remedy: "has no closing quote"),
    Mistake(
      "a misspelt function", .condition("lenght(name) > 2"),
      place: "(character 1)", cause: "there is no function 'lenght'", remedy: "did you mean 'length:'?"),
    Mistake(
      "a number for a pattern", .condition("name LIKE 3"),
      place: "(character 11)", cause: "LIKE needs strings, but 3 is not a string",
      remedy: "write it in quotes: '3'"),
    Mistake(
      "a variable without a value", .condition("name == $who"),
      place: "'$who'", cause: "has no value", remedy: "add one to `variables`"),
  ]

  private static let calls = [
    Mistake(
      "an unknown entity", .call { _ = try $0.insert(entityNamed: "Plan") },
      place: "the context's model", cause: "has no entity 'Plan'", remedy: "did you mean 'Plant'?"),
    Mistake(
      "an unknown key",
      .call { try $0.insert(entityNamed: "Plant").setValue(3.0, forKey: "heigth") },
      place: "entity 'Plant'", cause: "has no property 'heigth'", remedy: "did you mean 'height'?"),
    Mistake(
      "a value of another type",
      .call { try $0.insert(entityNamed: "Plant").setValue("tall", forKey: "height") },
      place: "'Plant.height'", cause: "not String", remedy: "takes Double"),
    Mistake(
      "an unknown fetch", .call { _ = try $0.fetchRequest(forEntityNamed: "Plant", template: "tal") },
      place: "entity 'Plant'", cause: "has no fetch 'tal'", remedy: "did you mean 'tall'?"),
    Mistake(
      "a value beyond its bound",
      .call { context in
        _ = try context.insert(entityNamed: "Plant", values: ["name": "Basil", "days": 90])
        try context.save()
      },
      place: "'Plant.days' of ", cause: "is 90", remedy: "above the maximum of 60"),
    Mistake(
      "two objects with one name",
      .call { context in
        for _ in 0..<2 { _ = try context.insert(entityNamed: "Room", values: ["name": "Kitchen"]) }
        try context.save()
      },
      place: "objects of 'Room'", cause: "have the same name", remedy: "change all but one of them"),
  ]

  private static let commands = [
    Mistake(
      "a misspelt command", .command(.cdgen, ["chek", "P.cdmodel"]),
      place: "command", cause: "'chek'", remedy: "Did you mean 'check'?"),
    Mistake(
      "a misspelt entity", .command(.cdstore, ["fetch", "p.sqlite", "Plan"]),
      place: "entity", cause: "'Plan'", remedy: "did you mean 'Plant'?"),
    Mistake(
      "a misspelt entity in data", .data("{ \"Plan\": [{ \"name\": \"Basil\" }] }"),
      place: "Plan: ", cause: "the model has no such entity", remedy: "did you mean 'Plant'?"),
    Mistake(
      "a path without a model", .command(.cdgen, ["check", "Q.cdmodel"]),
      place: "Q.cdmodel:1:1: ", cause: "there is no such folder",
      remedy: "a model is a folder named NAME.cdmodel"),
    Mistake(
      "a version that the model does not have",
      .command(.cdgen, ["graph", "P.cdmodel", "--format", "dot", "--version", "4"]),
      place: "P.cdmodel: ", cause: "the model has no version 4", remedy: "it has 1"),
    Mistake(
      "a misspelt property in data",
      .data("{ \"Plant\": [{ \"name\": \"Basil\" }, { \"nmae\": \"Mint\" }] }"),
      place: "Plant row 2, nmae", cause: "has no such property", remedy: "did you mean 'name'?"),
    Mistake(
      "a value of another type in data", .data("{ \"Plant\": [{ \"name\": 3 }] }"),
      place: "Plant row 1, name", cause: "String does not take an integer", remedy: "quotes"),
  ]
}
